// The address names table and position, as in #rota=x.o/.x./..o%20x, so that a link can be shared.
// A game that ended in what is no position is named by its last position and move: #...=W&move=left.

const MOVE = "&move=";

export function address(table, position, move = null) {
  const place = `#${encodeURIComponent(table)}=${encoded(position)}`;
  return move === null ? place : `${place}${MOVE}${encoded(move)}`;
}

// What an address names; what it leaves out is null.
export function placeOf(hash) {
  const text = hash.replace(/^#/, "");
  const equals = text.indexOf("=");
  if (equals < 0) {
    return { table: decoded(text) || null, position: null, move: null };
  }
  const [position, move] = text.slice(equals + 1).split(MOVE);
  return {
    table: decoded(text.slice(0, equals)),
    position: decoded(position),
    move: move === undefined ? null : decoded(move),
  };
}

const encoded = (text) => encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%2C", ",");

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // as it was typed; the service says what is wrong with it
  }
}
