/* The loops of builder/solvers/ in C: the ceiling of what a compiler makes of them.
 *
 * Called by bench_ceiling.py with the arrays that our own kernels are given. All numbers are int64_t,
 * so that a caller need not know their types.
 */

#include <stdint.h>
#include <string.h>

/* --- mask_bits: far and near moves over runs of words, middle ones by lists, inner ones by table --- */

#define GROUP 64
enum { NO_END_WINS, FULL_BOARD_WINS, EVERY_END_WINS };

static inline void pull(uint64_t *restrict won, int64_t length, const uint64_t *restrict known,
                        int64_t word, uint64_t low, uint64_t keep)
{
    if (word == 0) {
        for (int64_t i = 0; i < length; i++)
            won[i] |= (~known[i] >> low) & keep;
        return;
    }
    int64_t run = word & -word;
    for (int64_t first = 0; first < length; first = ((first | word | (run - 1)) + 1) & ~word) {
        const uint64_t *from = known + (first | word);
        uint64_t *to = won + first;
        for (int64_t i = 0; i < run; i++)
            to[i] |= (~from[i] >> low) & keep;
    }
}

static inline void mark(uint64_t *able, int64_t length, int64_t word, uint64_t keep)
{
    for (int64_t i = 0; i < length; i++)
        if (!(i & word))
            able[i] |= keep;
}

static inline void solve_group(uint64_t *won, const uint64_t *able, int64_t ends,
                               const int64_t *order, const int64_t *first, const int64_t *target,
                               const uint64_t *low, const uint64_t *keep, const uint64_t *movable,
                               const uint64_t *resolve)
{
    for (int64_t i = 0; i < GROUP; i++) {
        int64_t number = order[i];
        uint64_t word = won[number];
        for (int64_t move = first[i]; move < first[i + 1]; move++)
            word |= (~won[target[move]] >> low[move]) & keep[move];
        if (ends == EVERY_END_WINS)
            word |= ~(able[number] | movable[number]);
#pragma GCC unroll 8
        for (int byte = 7; byte >= 0; byte--)
            word |= resolve[(byte << 8) + (word >> 8 * byte & 255)];
        won[number] = word;
    }
}

void solve_blocks(uint64_t *words, uint64_t *won, uint64_t *able, int64_t length, int64_t first_block,
                  int64_t end_block, int64_t last_block, int64_t ends,
                  int64_t fars, const int64_t *far_unit, const int64_t *far_word,
                  const uint64_t *far_low, const uint64_t *far_keep,
                  int64_t nears, const int64_t *near_unit, const int64_t *near_word,
                  const uint64_t *near_low, const uint64_t *near_keep,
                  const int64_t *order, const int64_t *first, const int64_t *target,
                  const uint64_t *low, const uint64_t *keep, const uint64_t *movable,
                  const uint64_t *resolve)
{
    for (int64_t block = end_block - 1; block >= first_block; block--) {
        memset(won, 0, length * sizeof *won);
        memset(able, 0, length * sizeof *able);
        for (int64_t move = 0; move < fars; move++) {
            if (block & far_unit[move])
                continue;
            pull(won, length, words + (block | far_unit[move]) * length, far_word[move], far_low[move],
                 far_keep[move]);
            if (ends == EVERY_END_WINS)
                mark(able, length, far_word[move], far_keep[move]);
        }
        if (ends == FULL_BOARD_WINS && block == last_block)
            won[length - 1] |= UINT64_C(1) << 63;
        for (int64_t group = length / GROUP - 1; group >= 0; group--) {
            uint64_t *here = won + group * GROUP, *able_here = able + group * GROUP;
            for (int64_t move = 0; move < nears; move++) {
                if (group & near_unit[move])
                    continue;
                pull(here, GROUP, won + (group | near_unit[move]) * GROUP, near_word[move],
                     near_low[move], near_keep[move]);
                if (ends == EVERY_END_WINS)
                    mark(able_here, GROUP, near_word[move], near_keep[move]);
            }
            solve_group(here, able_here, ends, order, first, target, low, keep, movable, resolve);
        }
        memcpy(words + block * length, won, length * sizeof *won);
    }
}

/* --- the same one word at a time, as one would write it first ------------------------------------- */

void solve_words(uint64_t *words, int64_t count, int64_t moves, const int64_t *high,
                 const uint64_t *low, const uint64_t *keep, const uint64_t *reach,
                 const uint64_t *movable, int64_t misere)
{
    for (int64_t number = count - 1; number >= 0; number--) {
        uint64_t won = 0, can_move = *movable;
        for (int64_t move = 0; move < moves; move++) {
            if (number & high[move])
                continue;
            can_move |= keep[move];
            won |= (~words[number | high[move]] >> low[move]) & keep[move];
            if (won == UINT64_MAX)
                break;
        }
        if (misere)
            won |= ~can_move;
        for (uint64_t open = ~won; open;) {
            int top = 63 - __builtin_clzll(open);
            won |= reach[top];
            open &= ~(reach[top] | UINT64_C(1) << top);
        }
        words[number] = won;
    }
}

/* --- mask_scores ---------------------------------------------------------------------------------- */

void solve_scores(int8_t *scores, int64_t count, int64_t moves, const int64_t *high, const int64_t *low,
                  const int8_t *bar, const int64_t *inner, const int64_t *bounds, int64_t misere)
{
    enum { WORD = 64, UNSEEN = 127, FINISHED = 126 };
    for (int64_t word = count - 1; word >= 0; word--) {
        int8_t least[WORD];
        memset(least, UNSEEN, WORD);
        for (int64_t move = 0; move < moves; move++) {
            if (word & high[move])
                continue;
            const int8_t *source = scores + (word | high[move]) * WORD + low[move];
            for (int at = 0; at < WORD; at++) {
                int8_t score = source[at] > bar[move * WORD + at] ? source[at] : bar[move * WORD + at];
                least[at] = score < least[at] ? score : least[at];
            }
        }
        int8_t *here = scores + word * WORD;
        for (int at = WORD - 1; at >= 0; at--) {
            int8_t score = least[at];
            for (int64_t move = bounds[at]; move < bounds[at + 1]; move++)
                score = here[inner[move]] < score ? here[inner[move]] : score;
            if (score == UNSEEN)
                here[at] = misere ? FINISHED : -FINISHED;
            else
                here[at] = (score > 0 ? 1 : -1) - score;
        }
    }
}

/* --- retrograde, with the rules of Pursuit of bench_games.py -------------------------------------- */

enum { LOSS = 1, DRAW = 2, WIN = 3, UNSETTLED = 255, ROBBER = 1 };

static inline int64_t neighbour(int64_t cell, int way, int64_t side)
{
    switch (way) {
    case 0: return cell + side < side * side ? cell + side : cell + side - side * side;
    case 1: return cell >= side ? cell - side : cell - side + side * side;
    case 2: return cell % side < side - 1 ? cell + 1 : cell + 1 - side;
    default: return cell % side > 0 ? cell - 1 : cell - 1 + side;
    }
}

static inline int steps(int64_t index, int mover, int turn, int64_t side, int64_t *out)
{
    int64_t cells = side * side;
    int64_t robber = index / 2 / cells / cells, first = index / 2 / cells % cells;
    int64_t second = index / 2 % cells;
    for (int way = 0; way < 4; way++) {
        if (mover == ROBBER) {
            out[way] = ((neighbour(robber, way, side) * cells + first) * cells + second) * 2 + turn;
            continue;
        }
        out[way] = ((robber * cells + neighbour(first, way, side)) * cells + second) * 2 + turn;
        out[4 + way] = ((robber * cells + first) * cells + neighbour(second, way, side)) * 2 + turn;
    }
    return mover == ROBBER ? 4 : 8;
}

static inline int ended(int64_t index, int64_t side)
{
    int64_t cells = side * side;
    int64_t robber = index / 2 / cells / cells, first = index / 2 / cells % cells;
    int64_t second = index / 2 % cells;
    if (robber == first || robber == second)
        return index % 2 == ROBBER ? LOSS : WIN;
    if (robber == 0)
        return index % 2 == ROBBER ? WIN : LOSS;
    return 0;
}

void solve_pursuit(int64_t side, int64_t size, uint8_t *outcome, uint16_t *unrefuted,
                   uint32_t *remoteness, uint32_t *queue)
{
    int64_t out[8], end = 0;
    for (int64_t node = 0; node < size; node++) {
        outcome[node] = ended(node, side);
        if (outcome[node]) {
            queue[end++] = node;
            continue;
        }
        outcome[node] = UNSETTLED;
        unrefuted[node] = steps(node, node % 2, 1 - node % 2, side, out);
    }
    for (int64_t at = 0; at < end; at++) {
        int64_t node = queue[at];
        int before = 1 - node % 2, count = steps(node, before, before, side, out);
        for (int which = 0; which < count; which++) {
            int64_t source = out[which];
            /* Ended ones are settled, so they need not be left out as the rules do. */
            if (outcome[source] != UNSETTLED)
                continue;
            if (outcome[node] == LOSS)
                outcome[source] = WIN;
            else if (--unrefuted[source])
                continue;
            else
                outcome[source] = LOSS;
            remoteness[source] = remoteness[node] + 1;
            queue[end++] = source;
        }
    }
    for (int64_t node = 0; node < size; node++)
        if (outcome[node] == UNSETTLED)
            outcome[node] = DRAW;
}

/* --- ordered, with the rules of Winners and Losers ------------------------------------------------ */

void solve_letters(int64_t size, uint8_t *outcome, uint8_t *remoteness)
{
    outcome[0] = LOSS, outcome[1] = WIN;
    remoteness[0] = remoteness[1] = 1;
    for (int64_t index = 2; index < size; index++) {
        int length = 63 - __builtin_clzll(index + 2);
        int64_t bits = index + 2 - (INT64_C(1) << length), base = (INT64_C(1) << (length - 1)) - 2;
        int64_t after[2] = {base + (bits >> 1), base + (bits & ((INT64_C(1) << (length - 1)) - 1))};
        int quickest = 256, slowest = -1;
        for (int which = 0; which < 2; which++) {
            int plies = remoteness[after[which]];
            if (outcome[after[which]] == LOSS)
                quickest = plies < quickest ? plies : quickest;
            else
                slowest = plies > slowest ? plies : slowest;
        }
        outcome[index] = quickest < 256 ? WIN : LOSS;
        remoteness[index] = 1 + (quickest < 256 ? quickest : slowest);
    }
}

/* --- distance: the clock's walk, one step after the other, then the player's turn before it ------- */

void solve_clock(uint32_t *remoteness, uint32_t *turns, int64_t digits, int64_t base, int64_t *word)
{
    int64_t top = 1, index = 0, length = 1, lowered = -1;
    uint32_t count = 0;
    for (int64_t at = 0; at < digits; at++) {
        word[at] = base - 1;
        top *= at ? base : 1;
    }
    for (;;) {
        int is_listed = digits % length == 0;
        for (int64_t at = 0; is_listed && at < length; at++) {
            index = word[at] * top + index / base;
            count += word[at] && at != lowered;
            turns[index] = count;
        }
        int64_t last = digits - 1;
        while (last >= 0 && word[last] == 0)
            last--;
        if (last < 0)
            break;
        if (is_listed)
            lowered = last;
        word[last]--;
        length = last + 1;
        for (int64_t at = length; at < digits; at++)
            word[at] = word[at - length];
    }
    turns[0] = 0;
    enum { ROWS = 4096 };
    for (int64_t low = 0; low < top; low += ROWS) {
        int64_t high = low + ROWS < top ? low + ROWS : top;
        for (int64_t digit = 0; digit < base; digit++)
            for (int64_t row = low; row < high; row++) {
                uint32_t zeroed = turns[row * base], left = turns[row * base + digit];
                remoteness[digit * top + row] = 1 + (left < zeroed ? left : zeroed);
            }
    }
    remoteness[0] = 0;
}
