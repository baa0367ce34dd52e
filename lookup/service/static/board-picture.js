// Any game: the service's picture of the position, in lines of text. Moves are chosen from the list.

import { element } from "./dom.js";

export const picture = {
  how: "Choose a move from the list of moves; Tab goes from move to move and Enter makes it.",
  needsPicture: true,
  reads: () => true,
  draw: ({ text }) => element("pre", { class: "picture", tabindex: "0" }, text),
  edit: (position) => element("pre", { class: "picture" }, position),
};
