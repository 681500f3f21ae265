// Table: the values of events as columns, in one pass over the events.
//
// Python declares the columns once, and passes the offsets of the events (`slpstream/formats/slippi/arrow.py` and
// `columns.py`). The columns are written into arrays of Python, or become a struct array of the Arrow C data interface
// (https://arrow.apache.org/docs/format/CDataInterface.html), all of whose columns share one block of memory.

#include "kernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#if defined(__GNUC__) && defined(__x86_64__)
#define SLPSTREAM_AVX2 1
#include <immintrin.h>
#endif

// As in the specification of the interface, with its names.
extern "C" {
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    ArrowArray **children;
    ArrowArray *dictionary;
    void (*release)(ArrowArray *);
    void *private_data;
};
}

namespace kernel {
namespace {

constexpr std::size_t tile_rows = 128;  // with their events and the columns' ends, few enough for the L1 cache
constexpr std::size_t line_bytes = 64;  // of a cache
constexpr std::size_t max_together = 4, window_bytes = 16;
constexpr std::size_t aligned_bytes = 64;
constexpr Py_ssize_t max_columns = 4096, max_events = 64, max_width_bytes = 1 << 20;
constexpr Py_ssize_t max_rows = PY_SSIZE_T_MAX >> 24;  // times the limits of columns and widths: no overflow
constexpr const char *capsule_name = "arrow_array";

// The source of the values of a column.
enum class From : unsigned char {
    event,    // an event, at an offset in it
    given,    // the caller, in the byte order of the machine
    nowhere,  // null in all rows
};

struct Column {
    From from;
    Kind kind;
    std::size_t source;  // number of the event, or of the given values, which are in the order of their columns
    std::size_t offset;  // in the event
};

// Columns whose values are in 16 bytes of the same event, written together.
struct Step {
    std::size_t column, count;  // the first of them, and how many: 1 to `max_together`
    std::size_t offset;         // of the 16 bytes
    // The bytes that make 32 bits of each column, in the byte order of the machine; `no_byte` for a zero.
    std::array<unsigned char, window_bytes> order;
    std::array<std::size_t, max_together> offsets;  // of the values in the event
    std::array<unsigned, max_together> widths;      // 0 for booleans
};
constexpr unsigned char no_byte = 0x80;

class Table {
  public:
    explicit Table(PyObject *arguments) {
        PyObject *described;
        Py_ssize_t event_count;
        parse(arguments, "O!n", &PyTuple_Type, &described, &event_count);
        if (event_count < 0 || event_count > max_events || PyTuple_Size(described) > max_columns)
            raise(PyExc_ValueError, "too many columns or events");
        events = static_cast<std::size_t>(event_count);
        none.assign(events, std::vector<unsigned char>(window_bytes));
        widths.resize(events);
        steps.resize(events);
        for (Py_ssize_t i = 0; i < PyTuple_Size(described); ++i) add_column(PyTuple_GetItem(described, i));
        find_steps();
    }

    // The address of an Arrow array, and the capsule that owns it.
    Owned fill(Arguments arguments);
    // Writes the values of the first event into arrays.
    Owned read(Arguments arguments);

    std::vector<Column> columns;
    std::vector<std::vector<Step>> steps;  // for each event, all of its columns
    std::size_t events = 0;                // in each group
    std::vector<std::size_t> given;        // widths of the given values
    std::vector<std::size_t> widths;       // for each event, the bytes up to the end of its last column
    // For each event, the bytes that stand for an absent one, `window_bytes` or more.
    std::vector<std::vector<unsigned char>> none;

  private:
    // Adds a column that is described by its source, kind and offset.
    void add_column(PyObject *described) {
        Py_ssize_t number, offset;
        char letter;
        parse(described, "ncn", &number, &letter, &offset);
        const Kind kind = static_cast<Kind>(letter);
        const int width = width_of(kind);
        if (width < 1 || number < -1 || number > static_cast<Py_ssize_t>(events) || offset < 0 || offset > max_width_bytes - width)
            raise(PyExc_ValueError, "no column of a table: %R", described);
        const auto source = static_cast<std::size_t>(number), place = static_cast<std::size_t>(offset);
        const auto bytes = static_cast<std::size_t>(width);
        if (number < 0) {
            columns.push_back({From::nowhere, kind, 0, 0});
        } else if (source == events) {
            columns.push_back({From::given, kind, given.size(), 0});
            given.push_back(bytes);
        } else {
            widths[source] = std::max(widths[source], place + bytes);
            none[source].resize(std::max(widths[source], window_bytes));
            if (kind == Kind::f32) {  // a NaN
                none[source][place] = 0x7F;
                none[source][place + 1] = 0xC0;
            }
            columns.push_back({From::event, kind, source, place});
        }
    }

    // Finds the columns that are written together.
    void find_steps() {
        for (std::size_t i = 0; i < columns.size();) {
            const std::size_t source = columns[i].source, first = i;
            if (columns[i].from != From::event) {
                ++i;
                continue;
            }
            std::size_t begin = columns[i].offset, end = begin;
            for (; i < columns.size() && i < first + max_together; ++i) {
                const Column &one = columns[i];
                const std::size_t one_end = one.offset + static_cast<std::size_t>(width_of(one.kind));
                const std::size_t lowest = std::min(begin, one.offset), highest = std::max(end, one_end);
                if (one.from != From::event || one.source != source || highest - lowest > window_bytes) break;
                begin = lowest;
                end = highest;
            }
            Step step{first, i - first, std::min(begin, none[source].size() - window_bytes), {}, {}, {}};
            step.order.fill(no_byte);
            for (std::size_t k = 0; k < step.count; ++k) {
                const Column &one = columns[first + k];
                const auto width = static_cast<std::size_t>(width_of(one.kind));
                step.offsets[k] = one.offset;
                step.widths[k] = one.kind == Kind::boolean ? 0 : static_cast<unsigned>(width);
                for (std::size_t byte = 0; byte < width; ++byte)
                    step.order[k * 4 + byte] = static_cast<unsigned char>(one.offset - step.offset + width - 1 - byte);
            }
            steps[source].push_back(step);
        }
    }
};

// A table and its memory, and how many still use them: the arrays that are not released, and the capsule.
struct Storage {
    std::atomic<std::size_t> users{0};
    ArrowArray table{};
    std::vector<ArrowArray> arrays;
    std::vector<ArrowArray *> children;
    std::vector<const void *> buffers;  // validity and values of each column; the last is the validity of the rows
    std::unique_ptr<unsigned char, decltype(&std::free)> memory{nullptr, std::free};
};

void let_go(Storage *storage) {
    if (storage->users.fetch_sub(1) == 1) delete storage;
}

void release(ArrowArray *array) {
    for (std::int64_t i = 0; i < array->n_children; ++i) {
        ArrowArray *child = array->children[i];
        if (child->release != nullptr) child->release(child);
    }
    array->release = nullptr;
    let_go(static_cast<Storage *>(array->private_data));
}

void free_capsule(PyObject *capsule) {
    auto *storage = static_cast<Storage *>(PyCapsule_GetPointer(capsule, capsule_name));
    if (storage->table.release != nullptr) release(&storage->table);
    let_go(storage);
}

struct View {
    unsigned char *bytes;
    std::size_t size;
    std::size_t integers() const { return size / sizeof(std::int64_t); }
};

// Buffers of Python objects, released at the end of the scope.
class Buffers {
  public:
    Buffers() = default;
    Buffers(const Buffers &) = delete;
    Buffers &operator=(const Buffers &) = delete;
    ~Buffers() {
        for (Py_buffer &buffer : buffers_) PyBuffer_Release(&buffer);
    }
    View of(PyObject *object, int flags = PyBUF_SIMPLE) {
        Py_buffer &buffer = buffers_.emplace_back();
        check(PyObject_GetBuffer(object, &buffer, flags));
        return {static_cast<unsigned char *>(buffer.buf), static_cast<std::size_t>(buffer.len)};
    }

  private:
    std::vector<Py_buffer> buffers_;
};

struct Given {
    const unsigned char *values;
    bool is_constant;  // one value for all rows
};

// Rows with the same sources, such as those of one character.
struct Group {
    std::size_t rows = 0, offsets = 0;     // numbers of them
    const unsigned char *which = nullptr;  // for each row, the index of its offsets (64 bits); null if it is the row's
    // Offsets of the events, 64 bits each; negative for an absent one, and null if all are absent.
    std::vector<const unsigned char *> events;
    std::vector<Given> given;
    std::size_t first = 0;  // where they begin in the table
};

std::int64_t integer_at(const unsigned char *integers, std::size_t index) {
    std::int64_t integer;
    std::memcpy(&integer, integers + index * sizeof integer, sizeof integer);
    return integer;
}

struct Bits {
    unsigned char *bytes = nullptr;  // all zero at the beginning
    void set(std::size_t position) { bytes[position >> 3] |= static_cast<unsigned char>(1U << (position & 7)); }
    void set(std::size_t position, std::size_t count) {
        for (; count > 0 && position % 8 != 0; --count) set(position++);
        std::memset(bytes + position / 8, 0xFF, count / 8);
        for (position += count / 8 * 8, count %= 8; count > 0; --count) set(position++);
    }
};

// Writes 8 values of 32 bits as the column has them. Booleans have no width.
#ifdef SLPSTREAM_AVX2

const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

// 16 bytes of an event, and of the fourth event after it.
__attribute__((target("avx2"))) inline __m256i two_events(const unsigned char *const *events, std::size_t offset) {
    const __m128i one = _mm_loadu_si128(reinterpret_cast<const __m128i *>(events[0] + offset));
    const __m128i other = _mm_loadu_si128(reinterpret_cast<const __m128i *>(events[4] + offset));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(one), other, 1);
}

__attribute__((target("avx2"))) inline void store(__m256i values, unsigned width, unsigned char *out, std::size_t row) {
    if (width == 4) return _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + row * 4), values);
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
    if (width == 2) return _mm_storeu_si128(reinterpret_cast<__m128i *>(out + row * 2), words);
    const __m128i bytes = _mm_packus_epi16(words, words);
    if (width == 1) return _mm_storel_epi64(reinterpret_cast<__m128i *>(out + row), bytes);
    const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
    const unsigned bits = (~static_cast<unsigned>(zeros) & 0xFF) << (row & 7);
    out[row >> 3] |= static_cast<unsigned char>(bits);
    if (bits > 0xFF) out[(row >> 3) + 1] |= static_cast<unsigned char>(bits >> 8);
}

// Writes 8 rows at a time, and returns how many: all but fewer than 8.
__attribute__((target("avx2"))) std::size_t write_together(const Step &step, const unsigned char *const *events,
                                                           std::size_t count, std::size_t first,
                                                           unsigned char *const *columns) {
    // Copies, because for all that the compiler knows, the columns could be written over the originals.
    const auto [offset, columns_count, widths, order_bytes] =
        std::tuple(step.offset, step.count, step.widths, step.order);
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(order_bytes.data())));
    std::array<unsigned char *, max_together> out{};
    std::copy_n(columns, columns_count, out.begin());
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i a = _mm256_shuffle_epi8(two_events(events + i, offset), order);
        const __m256i b = _mm256_shuffle_epi8(two_events(events + i + 1, offset), order);
        const __m256i c = _mm256_shuffle_epi8(two_events(events + i + 2, offset), order);
        const __m256i d = _mm256_shuffle_epi8(two_events(events + i + 3, offset), order);
        const __m256i low_ab = _mm256_unpacklo_epi32(a, b), low_cd = _mm256_unpacklo_epi32(c, d);
        const __m256i high_ab = _mm256_unpackhi_epi32(a, b), high_cd = _mm256_unpackhi_epi32(c, d);
        store(_mm256_unpacklo_epi64(low_ab, low_cd), widths[0], out[0], first + i);
        if (columns_count > 1) store(_mm256_unpackhi_epi64(low_ab, low_cd), widths[1], out[1], first + i);
        if (columns_count > 2) store(_mm256_unpacklo_epi64(high_ab, high_cd), widths[2], out[2], first + i);
        if (columns_count > 3) store(_mm256_unpackhi_epi64(high_ab, high_cd), widths[3], out[3], first + i);
    }
    return i;
}

#else

constexpr bool has_avx2 = false;
std::size_t write_together(const Step &, const unsigned char *const *, std::size_t, std::size_t,
                           unsigned char *const *) {
    return 0;
}

#endif

template <typename Value>
void write_values(const unsigned char *const *events, std::size_t count, std::size_t offset, unsigned char *column,
                  Value (*value_at)(const unsigned char *)) {
    for (std::size_t i = 0; i < count; ++i) {
        const Value value = value_at(events[i] + offset);
        std::memcpy(column + i * sizeof value, &value, sizeof value);
    }
}

// The columns of the step, from row `first` of the table on. `columns` are where they begin. `has_windows` is whether
// `window_bytes` can be read of each event.
void write_step(const Step &step, const unsigned char *const *events, std::size_t count, std::size_t first,
                unsigned char *const *columns, bool has_windows) {
    const std::size_t written = has_avx2 && has_windows ? write_together(step, events, count, first, columns) : 0;
    events += written;
    count -= written;
    first += written;
    for (std::size_t k = 0; k < step.count && count > 0; ++k) {
        const std::size_t width = step.widths[k], offset = step.offsets[k];
        unsigned char *out = columns[k] + first * width;
        if (width == 4) {
            write_values(events, count, offset, out, u32_at);
        } else if (width == 2) {
            write_values(events, count, offset, out, u16_at);
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                const unsigned char value = events[i][offset];
                if (width == 1) out[i] = value;
                if (width == 0 && value != 0) Bits{out}.set(first + i);
            }
        }
    }
}

void write_given(Kind kind, const Given &given, const Group &group, unsigned char *column) {
    if (kind == Kind::boolean) {
        if (given.is_constant && *given.values != 0) Bits{column}.set(group.first, group.rows);
        for (std::size_t i = 0; !given.is_constant && i < group.rows; ++i)
            if (given.values[i] != 0) Bits{column}.set(group.first + i);
        return;
    }
    const auto width = static_cast<std::size_t>(width_of(kind)), bytes = group.rows * width;
    unsigned char *out = column + group.first * width;
    std::size_t done = given.is_constant ? std::min(width, bytes) : bytes;
    if (bytes > 0) std::memcpy(out, given.values, done);
    for (; done < bytes; done += std::min(done, bytes - done))
        std::memcpy(out + done, out, std::min(done, bytes - done));
}

inline void prefetch(const unsigned char *at) {
#ifdef __GNUC__
    __builtin_prefetch(at);
#else
    (void)at;
#endif
}

// Writes the rows of a table into memory.
class Writer {
  public:
    Writer(const Table &table, const Bytes &data)
        : columns(table.columns.size()), valid(table.events), absent(table.events), table_(table), data_(data),
          at_(tile_rows * table.events), has_windows_(table.events) {}

    // Writes all rows of the groups. Raises ValueError if a row or an event is outside of the data.
    void write(const std::vector<Group> &groups) {
        bool is_inside = true;
        {
            const WithoutGil others_run;
            std::size_t rows = 0;
            for (const Group &group : groups) {
                rows = std::max(rows, group.rows);
                for (std::size_t i = 0; i < columns.size(); ++i)
                    if (const Column &column = table_.columns[i]; column.from == From::given)
                        write_given(column.kind, group.given[column.source], group, columns[i]);
            }
            // The same rows of all groups are neighbours in the data, so they are written together.
            for (std::size_t begin = 0; begin < rows; begin += tile_rows)
                for (const Group &group : groups)
                    is_inside = is_inside && (begin >= group.rows || write_tile(group, begin));
        }
        if (!is_inside) raise(PyExc_ValueError, "a row or an event of a table is outside of the data");
    }

    std::vector<unsigned char *> columns;  // where they begin; those without values are not written
    std::vector<Bits> valid;               // for each event; null if they are not wanted
    std::vector<std::int64_t> absent;      // for each event: rows without it

  private:
    // Writes the rows of a group from `begin` on, at most a tile. Returns false if one of them is outside of the data.
    bool write_tile(const Group &group, std::size_t begin) {
        const std::size_t first = group.first + begin;
        tile_.resize(std::min(tile_rows, group.rows - begin));
        std::iota(tile_.begin(), tile_.end(), begin);
        for (std::size_t i = 0; group.which != nullptr && i < tile_.size(); ++i) {
            tile_[i] = static_cast<std::size_t>(integer_at(group.which, begin + i));
            if (tile_[i] >= group.offsets) return false;
        }
        // Each event is located and prefetched while the values of the one before are written.
        if (table_.events > 0 && !locate(group, 0, first)) return false;
        for (std::size_t event = 0; event < table_.events; ++event) {
            if (event + 1 < table_.events && !locate(group, event + 1, first)) return false;
            const unsigned char *const *at = at_.data() + event * tile_rows;
            for (const Step &step : table_.steps[event])
                write_step(step, at, tile_.size(), first, &columns[step.column], has_windows_[event]);
        }
        return true;
    }

    // Finds the events with this number in the rows of the tile; false if one is outside of the data.
    bool locate(const Group &group, std::size_t event, std::size_t first) {
        const unsigned char *none = table_.none[event].data(), *offsets = group.events[event], *data = data_.data();
        const std::size_t width = table_.widths[event], count = tile_.size();
        const unsigned char **at = at_.data() + event * tile_rows;
        if (offsets == nullptr) {
            std::fill_n(at, count, none);
            absent[event] += static_cast<std::int64_t>(count);
            has_windows_[event] = true;
            return true;
        }
        std::size_t without = 0;
        std::int64_t highest = -1;
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t offset = integer_at(offsets, tile_[i]);
            highest = std::max(highest, offset);
            at[i] = offset < 0 ? none : data + offset;
            without += offset < 0;
        }
        if (highest > data_.size - static_cast<std::int64_t>(width)) return false;
        has_windows_[event] = highest <= data_.size - static_cast<std::int64_t>(table_.none[event].size());
        for (std::size_t line = 0; line < width; line += line_bytes)
            for (std::size_t i = 0; i < count; ++i) prefetch(at[i] + std::min(line + line_bytes, width) - 1);
        absent[event] += static_cast<std::int64_t>(without);
        if (valid[event].bytes == nullptr) return true;
        if (without == 0) {
            valid[event].set(first, count);
        } else {
            for (std::size_t i = 0; i < count; ++i)
                if (at[i] != none) valid[event].set(first + i);
        }
        return true;
    }

    const Table &table_;
    const Bytes &data_;
    std::vector<const unsigned char *> at_;  // of a tile: where its events are
    std::vector<std::size_t> tile_;          // for each of its rows, which of the offsets
    std::vector<bool> has_windows_;          // for each event: whether the data does not end before `window_bytes`
};

// Gives memory to all columns. Those that are null in all rows share zeros.
void allocate(const Table &table, std::size_t rows, Storage &storage, Writer &writer) {
    // All counts are bounded: columns by their limit, and rows by the memory of the offsets.
    const auto aligned = [](std::size_t bytes) { return (bytes + aligned_bytes - 1) / aligned_bytes * aligned_bytes; };
    const std::size_t bits = aligned(rows / 8 + 1);
    const auto size_of = [&](const Column &column) {
        return column.kind == Kind::boolean ? bits : aligned(rows * static_cast<std::size_t>(width_of(column.kind)));
    };
    std::size_t zeros = 0, bytes = table.events * bits;
    for (const Column &column : table.columns) {
        if (column.from == From::nowhere) {
            zeros = std::max(zeros, size_of(column) + bits);
        } else {
            bytes += size_of(column);
        }
    }
    storage.memory.reset(static_cast<unsigned char *>(std::malloc(zeros + bytes + aligned_bytes)));
    unsigned char *free = storage.memory.get();
    if (free == nullptr) throw std::bad_alloc();
    free += aligned_bytes - reinterpret_cast<std::uintptr_t>(free) % aligned_bytes;
    const auto take = [&free](std::size_t size, bool is_zero) {
        unsigned char *const taken = std::exchange(free, free + size);
        if (is_zero) std::memset(taken, 0, size);
        return taken;
    };
    const unsigned char *const nothing = take(zeros, true);
    for (Bits &valid : writer.valid) valid.bytes = take(bits, true);
    storage.buffers.assign(2 * table.columns.size() + 1, nullptr);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const Column &column = table.columns[i];
        if (column.from == From::nowhere) {
            storage.buffers[2 * i] = storage.buffers[2 * i + 1] = nothing;
        } else {
            storage.buffers[2 * i + 1] = writer.columns[i] = take(size_of(column), column.kind == Kind::boolean);
        }
    }
}

// Describes the table that was written.
void describe(const Table &table, std::size_t rows, Storage &storage, const Writer &writer) {
    const std::size_t count = table.columns.size();
    const auto length = static_cast<std::int64_t>(rows);
    storage.arrays.resize(count);
    storage.children.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Column &column = table.columns[i];
        const void **buffers = &storage.buffers[2 * i];
        std::int64_t nulls = column.from == From::nowhere ? length : 0;
        if (column.from == From::event) nulls = writer.absent[column.source];
        if (column.from == From::event && nulls > 0) buffers[0] = writer.valid[column.source].bytes;
        storage.arrays[i] = {length, nulls, 0, 2, 0, buffers, nullptr, nullptr, release, &storage};
        storage.children[i] = &storage.arrays[i];
    }
    storage.table = {length, 0, 0, 1, static_cast<std::int64_t>(count), &storage.buffers[2 * count],
                     storage.children.data(), nullptr, release, &storage};
    storage.users = count + 2;
}

// Reads one group: (rows, which, events, given).
Group read_group(PyObject *described, const Table &table, Buffers &buffers) {
    PyObject *which, *events, *given;
    Py_ssize_t rows;
    parse(described, "nOO!O!", &rows, &which, &PyTuple_Type, &events, &PyTuple_Type, &given);
    const auto require = [](bool is_good) {
        if (!is_good) raise(PyExc_ValueError, "a group of a table has sources of other sizes");
    };
    require(rows >= 0 && rows <= max_rows && PyTuple_Size(events) == static_cast<Py_ssize_t>(table.events) &&
            PyTuple_Size(given) == static_cast<Py_ssize_t>(table.given.size()));
    Group group;
    group.rows = static_cast<std::size_t>(rows);
    group.offsets = SIZE_MAX;
    for (Py_ssize_t i = 0; i < PyTuple_Size(events); ++i) {
        PyObject *offsets = PyTuple_GetItem(events, i);
        group.events.push_back(nullptr);
        if (offsets == Py_None) continue;
        const View view = buffers.of(offsets);
        group.events.back() = view.bytes;
        group.offsets = std::min(group.offsets, view.integers());
    }
    if (which != Py_None) {
        const View view = buffers.of(which);
        group.which = view.bytes;
        require(view.integers() == group.rows);
    }
    require(group.which != nullptr || group.rows <= group.offsets);
    for (Py_ssize_t i = 0; i < PyTuple_Size(given); ++i) {
        const View view = buffers.of(PyTuple_GetItem(given, i));
        const std::size_t width = table.given[static_cast<std::size_t>(i)];
        group.given.push_back({view.bytes, view.size == width});
        require(view.size == width || view.size == group.rows * width);
    }
    return group;
}

Owned Table::fill(Arguments arguments) {
    const Bytes data(arguments[0]);
    if (!PyTuple_Check(arguments[1])) raise(PyExc_TypeError, "the groups of a table are a tuple");
    Buffers buffers;
    std::vector<Group> groups;
    std::size_t rows = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(arguments[1]); ++i) {
        groups.push_back(read_group(PyTuple_GetItem(arguments[1], i), *this, buffers));
        groups.back().first = rows;
        rows += groups.back().rows;
    }
    Writer writer(*this, data);
    auto storage = std::make_unique<Storage>();
    allocate(*this, rows, *storage, writer);
    writer.write(groups);
    describe(*this, rows, *storage, writer);
    const Owned capsule = checked(PyCapsule_New(storage.get(), capsule_name, free_capsule));
    const Owned address = checked(PyLong_FromVoidPtr(&storage.release()->table));
    return checked(PyTuple_Pack(2, address.get(), capsule.get()));
}

Owned Table::read(Arguments arguments) {
    const Bytes data(arguments[0]);
    if (!PyTuple_Check(arguments[2]) || PyTuple_Size(arguments[2]) != static_cast<Py_ssize_t>(columns.size()))
        raise(PyExc_ValueError, "a table is read into a tuple with an array for each column");
    if (events != 1 || !given.empty()) raise(PyExc_ValueError, "only tables with one event and no given values are read");
    Buffers buffers;
    const View offsets = buffers.of(arguments[1]);
    Group group;
    group.rows = group.offsets = offsets.integers();
    group.events.push_back(offsets.bytes);
    Writer writer(*this, data);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const View view = buffers.of(PyTuple_GetItem(arguments[2], static_cast<Py_ssize_t>(i)), PyBUF_WRITABLE);
        const auto width = static_cast<std::size_t>(width_of(columns[i].kind));
        if (columns[i].kind == Kind::boolean || view.size != group.rows * width)
            raise(PyExc_ValueError, "an array has another size than its column");
        writer.columns[i] = view.bytes;
    }
    writer.write({group});
    return shared(Py_None);
}

PyMethodDef table_methods[] = {method<&Table::fill, 2>("fill"), method<&Table::read, 3>("read"), {}};

}  // namespace

void add_table(PyObject *module) { add_type<Table>(module, "slpstream.formats.kernel._kernel.Table", table_methods); }

}  // namespace kernel
