/* Ask an Endtable file about positions, in C.
 *
 *     h5cc -shlib -O2 -o read_table read_table.c -lzstd -lcrypto -ljansson
 *     ./read_table TABLE.h5 < positions.txt
 *
 * (Debian: apt-get install libhdf5-dev libzstd-dev libssl-dev libjansson-dev.) It prints a line for each
 * position: the text, outcome, remoteness and Grundy value, separated by tabs, "-" where there is none. A
 * text that is no position is an error line; the others are answered, and the exit code is 2. It is 1 if the
 * file cannot be used. tables/FORMAT.md explains everything that is done here.
 *
 * libhdf5 finds the chunks, libzstd decodes them. That is as short as to read through HDF5's Zstandard
 * plugin, decodes only the chunks that are asked for, and needs no plugin to be there at run time.
 */
#define H5Dread_chunk_vers 1 /* HDF5 2 has a second form of it */
#include <hdf5.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { CLASSES, GRUNDY, OUTCOME, REMOTENESS, COLUMNS }; /* in alphabetical order, as the digest needs them */
enum { DIGEST = 32, FLETCHER = 4, LARGEST_CHUNK = 1 << 24, MOST_STICKS = 200 };

typedef struct {
    hid_t dataset; /* 0 if the table does not have this column */
    int64_t bits;
    hsize_t step; /* elements in a chunk */
    size_t chunk_bytes, chunk_count;
    uint8_t *digests;
    uint8_t **chunks; /* decoded and checked; NULL until somebody asks */
} Column;

typedef struct {
    uint64_t code; /* 0 not a position, 1 loss, 2 draw, 3 win */
    int64_t remoteness, grundy; /* -1 if there is none */
} Value;

static const char *const NAMES[COLUMNS] = {"classes", "grundy", "outcome", "remoteness"};
static const char *const OUTCOMES[] = {"", "loss", "draw", "win"};
static const char *path;
static Column columns[COLUMNS];
static json_t *info, *parameters, *period; /* period is NULL if none is proven */

static void fail(const char *what, const char *of) {
    fflush(stdout);
    fprintf(stderr, "error: '%s' cannot be used: %s%s\n", path, what, of);
    exit(1);
}

static void *allocate(size_t count, size_t bytes) {
    void *room = calloc(count, bytes);
    if (!room) fail("there is not enough memory", "");
    return room;
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    if (!text) fail("it does not say its ", key);
    return text;
}

static uint64_t number_of(const json_t *object, const char *key) {
    const json_t *number = json_object_get(object, key);
    if (!json_is_integer(number) || json_integer_value(number) < 0) fail("it does not say its ", key);
    return (uint64_t)json_integer_value(number);
}

/* --- the file --------------------------------------------------------------------------------------- */

/* Puts one attribute, which is a fixed-length string or an integer, into a JSON object. */
static herr_t note_attribute(hid_t item, const char *name, const H5A_info_t *about, void *object) {
    hid_t attribute = H5Aopen(item, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    herr_t done = -1;
    if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0) {
        char *text = allocate(about->data_size + 1, 1);
        done = H5Aread(attribute, type, text);
        json_object_set_new(object, name, json_string(text));
        free(text);
    } else if (H5Tget_class(type) == H5T_INTEGER && about->data_size == sizeof(int64_t)) {
        int64_t number = 0;
        done = H5Aread(attribute, H5T_NATIVE_INT64, &number);
        json_object_set_new(object, name, json_integer(number));
    }
    H5Tclose(type);
    H5Aclose(attribute);
    return done < 0 ? -1 : 0;
}

static json_t *attributes(hid_t item) {
    json_t *object = json_object();
    if (H5Aiterate2(item, H5_INDEX_NAME, H5_ITER_INC, NULL, note_attribute, object) < 0)
        fail("its attributes cannot be read", "");
    return object;
}

/* The shape of a dataset of as many dimensions as are expected. */
static void shape_of(hid_t dataset, int dimensions, hsize_t *shape) {
    hid_t space = H5Dget_space(dataset);
    if (H5Sget_simple_extent_ndims(space) != dimensions ||
        H5Sget_simple_extent_dims(space, shape, NULL) != dimensions)
        fail("it has a column, or digests, of an unexpected shape", "");
    H5Sclose(space);
}

/* Returns what the column says of itself. */
static json_t *open_column(hid_t file, Column *column, const char *name) {
    char place[32];
    snprintf(place, sizeof place, "sha256/%s", name);
    hid_t dataset = column->dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t digests = H5Dopen2(file, place, H5P_DEFAULT);
    hid_t type = H5Dget_type(dataset), creation = H5Dget_create_plist(dataset);
    hsize_t length, lines[2];
    shape_of(dataset, 1, &length);
    shape_of(digests, 2, lines);
    json_t *said = attributes(dataset);
    column->bits = (int64_t)number_of(said, "bits");
    if (H5Pget_chunk(creation, 1, &column->step) != 1 || column->step < 1 || column->step > LARGEST_CHUNK ||
        column->bits < 1 || column->bits > 32 || (column->bits & (column->bits - 1)) ||
        H5Tget_size(type) != (size_t)(column->bits < 8 ? 8 : column->bits) / 8)
        fail("unexpected chunks or bits of ", name);
    column->chunk_bytes = column->step * H5Tget_size(type);
    column->chunk_count = (length + column->step - 1) / column->step;
    if (lines[0] != column->chunk_count || lines[1] != DIGEST) fail("unexpected digests of ", name);
    column->digests = allocate(column->chunk_count, DIGEST);
    column->chunks = allocate(column->chunk_count, sizeof *column->chunks);
    if (H5Dread(digests, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, column->digests) < 0)
        fail("unreadable digests of ", name);
    H5Pclose(creation);
    H5Tclose(type);
    H5Dclose(digests);
    return said;
}

/* The digest of a table: SHA-256 of its metadata, as JSON of one form, and of all digests of chunks. */
static void check_digest(json_t *described) {
    char *digest = strdup(text_of(info, "digest")), hex[2 * DIGEST + 1];
    uint8_t sum[DIGEST];
    json_object_del(info, "digest");
    json_t *metadata = json_pack("{sOsO}", "table", info, "columns", described);
    char *text = json_dumps(metadata, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENSURE_ASCII);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    EVP_DigestUpdate(context, text, strlen(text));
    for (Column *column = columns; column < columns + COLUMNS; column++)
        if (column->dataset) EVP_DigestUpdate(context, column->digests, column->chunk_count * DIGEST);
    EVP_DigestFinal_ex(context, sum, NULL);
    for (int at = 0; at < DIGEST; at++) snprintf(hex + 2 * at, 3, "%02x", sum[at]);
    if (strcmp(hex, digest)) fail("its metadata does not match its digest", "");
    EVP_MD_CTX_free(context);
    free(text);
    json_decref(metadata);
    free(digest);
}

static void open_table(void) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* its errors are ours to tell */
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) fail("it cannot be read as HDF5", "");
    info = attributes(file);
    if (strcmp(text_of(info, "format"), "endtable") || number_of(info, "format_version") != 1)
        fail("it is no table of format 1", "");
    json_t *described = json_object();
    for (int at = 0; at < COLUMNS; at++)
        if (H5Lexists(file, NAMES[at], H5P_DEFAULT) > 0)
            json_object_set_new(described, NAMES[at], open_column(file, &columns[at], NAMES[at]));
    check_digest(described);
    json_decref(described);
    parameters = json_loads(text_of(info, "parameters"), 0, NULL);
    period = json_loads(text_of(info, "period"), 0, NULL);
    if (!columns[OUTCOME].dataset) fail("it has no outcomes", "");
}

/* A chunk as it was before it was stored: a Zstandard frame, and behind it HDF5's Fletcher-32 checksum,
 * which the digest makes unnecessary. */
static const uint8_t *read_chunk(Column *column, size_t at) {
    hsize_t first = at * column->step, stored = 0;
    uint32_t skipped = 0;
    uint8_t sum[DIGEST];
    if (H5Dget_chunk_storage_size(column->dataset, &first, &stored) < 0 || stored <= FLETCHER ||
        stored > 2 * (hsize_t)LARGEST_CHUNK)
        fail("it lacks a chunk of ", NAMES[column - columns]);
    uint8_t *frame = allocate(stored, 1), *chunk = allocate(column->chunk_bytes, 1);
    if (H5Dread_chunk(column->dataset, H5P_DEFAULT, &first, &skipped, frame) < 0 || skipped ||
        ZSTD_decompress(chunk, column->chunk_bytes, frame, stored - FLETCHER) != column->chunk_bytes)
        fail("damaged chunk of ", NAMES[column - columns]);
    EVP_Digest(chunk, column->chunk_bytes, sum, NULL, EVP_sha256(), NULL);
    if (memcmp(sum, column->digests + at * DIGEST, DIGEST))
        fail("a chunk does not match its digest: one of ", NAMES[column - columns]);
    free(frame);
    return column->chunks[at] = chunk;
}

/* One number; several share a byte if they are narrow, the first in the lowest bits. */
static uint64_t item(Column *column, uint64_t number) {
    uint64_t bit = number * (uint64_t)column->bits, byte = bit / 8, whole = 0;
    size_t at = byte / column->chunk_bytes, place = byte % column->chunk_bytes;
    if (at >= column->chunk_count) fail("too short is its ", NAMES[column - columns]);
    const uint8_t *chunk = column->chunks[at] ? column->chunks[at] : read_chunk(column, at);
    for (int next = column->bits > 8 ? (int)column->bits / 8 - 1 : 0; next >= 0; next--)
        whole = whole << 8 | chunk[place + (size_t)next];
    return whole >> bit % 8 & ((UINT64_C(1) << column->bits) - 1);
}

/* --- values ----------------------------------------------------------------------------------------- */

static Value value_at(uint64_t index) {
    Value value = {0, -1, -1};
    uint64_t plies = 0;
    if (index >= number_of(info, "size")) {
        if (!period) return value;
        uint64_t before = number_of(period, "preperiod"), length = number_of(period, "period");
        if (!length) fail("its period is 0", "");
        plies = (index - before) / length * number_of(period, "plies");
        index = before + (index - before) % length;
    }
    /* With `classes`, a record is one symmetry class, and 0 stands for what is not a position. */
    uint64_t record = columns[CLASSES].dataset ? item(&columns[CLASSES], index) : index;
    value.code = item(&columns[OUTCOME], record);
    if (columns[OUTCOME].bits == 1) value.code = value.code ? 3 : 1;
    if (value.code > 3) fail("it has an outcome that is none", "");
    if (columns[REMOTENESS].dataset && value.code != 2)
        value.remoteness = (int64_t)(item(&columns[REMOTENESS], record) + plies);
    if (columns[GRUNDY].dataset) value.grundy = (int64_t)item(&columns[GRUNDY], record);
    return value;
}

/* The length of the next segment of a row, that is a stretch of sticks without a gap; 0 if there is none. */
static uint64_t next_segment(const char **row) {
    *row += strspn(*row, ".");
    uint64_t length = strspn(*row, "|");
    *row += length;
    return length;
}

/* Segments of `sticks-run` are independent games: nim-values add up by exclusive or. */
static Value run_value(const char *row) {
    Value sum = {1, -1, 0};
    for (uint64_t length; (length = next_segment(&row));) {
        Value value = value_at(length);
        if (!value.code) return value;
        sum.grundy ^= value.grundy;
    }
    sum.code = sum.grundy ? 3 : 1;
    return sum;
}

/* --- texts ------------------------------------------------------------------------------------------ */

static int falling(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a < b) - (a > b);
}

/* A segment of s sticks is a part s + 1 of a partition of N + 1, filled up with ones. Its index is its rank
 * among all of them in lexicographic order. */
static bool parse_special(const char *row, uint64_t *index) {
    static uint64_t ways[MOST_STICKS + 2][MOST_STICKS + 2]; /* [most][total]: sums of parts of at most so many */
    uint64_t rest = number_of(parameters, "length") + 1, lengths[MOST_STICKS], count = 0;
    if (rest > MOST_STICKS) fail("its rows are longer than this reader knows", "");
    ways[0][0] = 1;
    for (uint64_t most = 1; most <= rest; most++)
        for (uint64_t total = 0; total <= rest; total++)
            ways[most][total] = ways[most - 1][total] + (total < most ? 0 : ways[most][total - most]);
    for (uint64_t length; (length = next_segment(&row)); lengths[count++] = length)
        if (count == MOST_STICKS) return false;
    qsort(lengths, count, sizeof *lengths, falling);
    for (uint64_t at = 0; at < count; rest -= lengths[at++] + 1) {
        if (lengths[at] + 1 > rest) return false;
        *index += ways[lengths[at]][rest];
    }
    return true;
}

static bool parse_tactics(const char *text, uint64_t *index) {
    uint64_t rows = number_of(parameters, "rows"), cols = number_of(parameters, "cols");
    if (rows * cols > 63) fail("its board is larger than this reader knows", "");
    if (strlen(text) != rows * (cols + 1) - 1) return false;
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t col = 0; col <= cols; col++, text++) {
            if (col == cols ? *text != '/' && *text : *text != '.' && *text != 'X') return false;
            if (*text == 'X') *index |= UINT64_C(1) << (row * cols + col);
        }
    return true;
}

static bool parse_rota(const char *text, uint64_t *index) {
    uint64_t x = 0, o = 0, power = 1;
    if (strlen(text) != 13 || text[3] != '/' || text[7] != '/' || text[11] != ' ') return false;
    char mover = text[12];
    if (mover != 'x' && mover != 'o') return false;
    for (int at = 0; at < 11; at++) {
        if (at % 4 == 3) continue;
        if (!strchr(".xo", text[at])) return false;
        x += text[at] == 'x';
        o += text[at] == 'o';
        *index += power * (text[at] == '.' ? 0 : text[at] == mover ? 1 : 2);
        power *= 3;
    }
    /* Until all six pieces are there their numbers say who moves. The table knows the other holes. */
    return x == o + (mover == 'o') || (x == 3 && o == 3);
}

static bool parse_clock(const char *text, uint64_t *index) {
    uint64_t n = number_of(parameters, "n"), k = number_of(parameters, "k");
    for (uint64_t digits = 0; digits < n; digits++) {
        uint64_t digit = 0, length = k < 10 ? 1 : strspn(text, "0123456789");
        if (length < 1 || length > 10 || (length > 1 && *text == '0')) return false;
        for (; length; length--, text++) {
            if (*text < '0' || *text > '9') return false;
            digit = digit * 10 + (uint64_t)(*text - '0');
        }
        if (digit > k) return false;
        *index = *index * (k + 1) + digit;
        if (k >= 10 && digits + 1 < n && *text++ != ',') return false; /* commas from k = 10 on */
    }
    return !*text;
}

static bool parse_letters(const char *text, uint64_t *index) {
    uint64_t length = strlen(text);
    if (length < 1 || length > number_of(parameters, "length") || length > 62) return false;
    if (strspn(text, "WL") != length) return false;
    *index = (UINT64_C(1) << length) - 2;
    for (uint64_t at = 0; at < length; at++) *index += (uint64_t)(text[at] == 'W') << at;
    return true;
}

/* The value of a position; its code is 0 if the text is none. */
static Value probe(const char *text) {
    static const Value none = {0, -1, -1};
    const char *game = text_of(info, "game");
    uint64_t index = 0;
    bool parsed = false;
    if (!strncmp(game, "sticks-", 7)) {
        if (!*text || strspn(text, "|.") != strlen(text)) return none;
        if (!strcmp(game, "sticks-run")) return run_value(text);
        if (!strcmp(game, "sticks-special"))
            parsed = parse_special(text, &index);
        else if ((parsed = !strcmp(game, "sticks-any")))
            for (const char *stick = text; *stick; stick++) index += *stick == '|';
    } else if (!strcmp(game, "tactics")) {
        parsed = parse_tactics(text, &index);
    } else if (!strcmp(game, "rota")) {
        parsed = parse_rota(text, &index);
    } else if (!strcmp(game, "clock")) {
        parsed = parse_clock(text, &index);
    } else if (!strcmp(game, "winners-losers")) {
        parsed = parse_letters(text, &index);
    } else {
        fail("this reader does not know the game ", game);
    }
    return parsed ? value_at(index) : none;
}

static void print_part(int64_t part) {
    if (part < 0)
        printf("\t-");
    else
        printf("\t%lld", (long long)part);
}

int main(int count, char **words) {
    if (count != 2) {
        fprintf(stderr, "usage: read_table TABLE.h5 < positions.txt\n");
        return 2;
    }
    char *line = NULL;
    size_t room = 0;
    int code = 0;
    path = words[1];
    open_table();
    for (ssize_t length; (length = getline(&line, &room, stdin)) >= 0;) {
        if (length && line[length - 1] == '\n') line[--length] = 0;
        Value value = strlen(line) == (size_t)length ? probe(line) : (Value){0, -1, -1};
        if (!value.code) {
            fprintf(stderr, "error: '%s' is not a position of %s: %s\n", line, text_of(info, "name"),
                    text_of(info, "notation"));
            code = 2;
            continue;
        }
        printf("%s\t%s", line, OUTCOMES[value.code]);
        print_part(value.remoteness);
        print_part(value.grundy);
        putchar('\n');
    }
    free(line);
    return code;
}
