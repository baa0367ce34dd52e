// Which board a game is shown on. A board knows how positions and moves are written and drawn, and no
// rules: which moves there are it is told.
//
//   draw(view)                  the position, to be played on; `view` is
//       info, position, path, at
//       moves      the legal moves, as the service lists them, best first
//       playable   whether a person may move now
//       level      how much hints tell (settings.js)
//       last       the move that led here, as text, or null
//       act(text)  makes a move;  tell(text)  says what to do next
//   edit(text, change, info)    the position, to be changed; `change` is called with the new text
//   reads(text)                 whether a text can be drawn at all; the service says if it is a position
//   mover(position)             0 or 1, if the position says who is to move
//   how                         how to make a move, in a sentence or two

import { clock } from "./board-clock.js";
import { letters } from "./board-letters.js";
import { rota } from "./board-rota.js";
import { sticks } from "./board-sticks.js";
import { tactics } from "./board-tactics.js";
import { picture } from "./board-picture.js";

const BOARDS = {
  tactics,
  rota,
  "sticks-any": sticks,
  "sticks-run": sticks,
  "sticks-special": sticks,
  clock,
  "winners-losers": letters,
};

// A game of somebody's own may bear a name from above and look otherwise: then it has a picture, too.
export function boardFor(info) {
  const board = BOARDS[info.game];
  return board && (info.start === null || board.reads(info.start)) ? board : picture;
}
