// Table: the values of events as the columns of an Arrow table, in one pass over the events.
//
// Python declares the columns once, and passes for each table the offsets of the events
// (`slpstream/formats/slippi/arrow.py`). The result is a struct array of the Arrow C data interface
// (https://arrow.apache.org/docs/format/CDataInterface.html), all of whose columns share one block of memory.

#include "kernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
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
constexpr Py_ssize_t max_columns = 4096, max_sources = 64, max_width_bytes = 1 << 20;
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
    std::size_t source;  // number of the event, or of the given values
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

struct Plan {
    std::vector<Column> columns;
    std::vector<std::vector<Step>> steps;         // for each event, all of its columns
    std::size_t events = 0, given = 0;            // in each group
    std::vector<std::size_t> given_bytes;         // widths of the given values
    std::vector<std::size_t> widths;              // for each event, the bytes up to the end of its last column
    // For each event, the bytes that stand for an absent one, `window_bytes` or more.
    std::vector<std::vector<unsigned char>> none;
    std::vector<bool> is_wanted;                  // a row needs one of these events; without any, all rows count
};

struct TableObject {
    PyObject_HEAD
    Plan *made;
};

// The memory of a table, and how many arrays still use it.
struct Storage {
    std::atomic<std::size_t> users{0};
    std::vector<ArrowArray> arrays;
    std::vector<ArrowArray *> children;
    std::vector<const void *> buffers;
    std::unique_ptr<unsigned char, decltype(&std::free)> memory{nullptr, std::free};
};

void release(ArrowArray *array) {
    auto *storage = static_cast<Storage *>(array->private_data);
    for (std::int64_t i = 0; i < array->n_children; ++i) {
        ArrowArray *child = array->children[i];
        if (child->release != nullptr) child->release(child);
    }
    array->release = nullptr;
    if (storage->users.fetch_sub(1) == 1) delete storage;
}

void free_capsule(PyObject *capsule) {
    auto *array = static_cast<ArrowArray *>(PyCapsule_GetPointer(capsule, capsule_name));
    if (array->release != nullptr) array->release(array);
    delete array;
}

// Buffers of Python objects, released at the end of the scope.
class Buffers {
  public:
    Buffers() = default;
    Buffers(const Buffers &) = delete;
    Buffers &operator=(const Buffers &) = delete;
    ~Buffers() {
        for (Py_buffer &view : views_) PyBuffer_Release(&view);
    }
    // The start of the object's bytes; null with an exception if it has none.
    const Py_buffer *of(PyObject *object) {
        views_.emplace_back();
        if (PyObject_GetBuffer(object, &views_.back(), PyBUF_SIMPLE) == 0) return &views_.back();
        views_.pop_back();
        return nullptr;
    }

  private:
    std::vector<Py_buffer> views_;
};

struct Given {
    const unsigned char *values;
    bool is_constant;  // one value for all rows
};

// Rows with the same sources, such as those of one character.
struct Group {
    std::size_t rows = 0, offsets = 0;  // numbers of them
    // Offsets of the events, 64 bits each; negative for an absent one, and null if all are absent.
    std::vector<const unsigned char *> events;
    std::vector<Given> given;
    const std::vector<std::size_t> *which = nullptr;  // for each row, which of the offsets; null for one after the other
    std::vector<std::size_t> chosen;            // the rows that the table has; empty for all
    std::size_t count = 0;                      // their number
    std::size_t first = 0, written = 0;         // where they begin in the table, and how many are there
};

std::int64_t offset_at(const unsigned char *offsets, std::size_t row) {
    std::int64_t offset;
    std::memcpy(&offset, offsets + row * sizeof offset, sizeof offset);
    return offset;
}

void choose_rows(const Plan &plan, Group &group) {
    std::vector<const unsigned char *> wanted;
    bool is_any_wanted = false;
    for (std::size_t i = 0; i < plan.events; ++i) {
        is_any_wanted = is_any_wanted || plan.is_wanted[i];
        if (plan.is_wanted[i] && group.events[i] != nullptr) wanted.push_back(group.events[i]);
    }
    group.count = is_any_wanted && wanted.empty() ? 0 : group.rows;
    const auto is_in_all = [&](const unsigned char *offsets) {
        std::int64_t together = 0;
        for (std::size_t i = 0; i < group.offsets; ++i) together |= offset_at(offsets, i);
        return together >= 0;
    };
    if (wanted.empty() || std::any_of(wanted.begin(), wanted.end(), is_in_all)) return;
    const auto is_in = [&](std::size_t row) {
        for (const unsigned char *offsets : wanted)
            if (offset_at(offsets, group.which == nullptr ? row : (*group.which)[row]) >= 0) return true;
        return false;
    };
    group.chosen.reserve(group.rows);
    for (std::size_t row = 0; row < group.rows; ++row)
        if (is_in(row)) group.chosen.push_back(row);
    group.count = group.chosen.size();
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
    const auto [offset, columns_count, widths, order_bytes] = std::tuple(step.offset, step.count, step.widths, step.order);
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

// The columns of the step, from row `first` of the table on. `columns` are where they begin.
void write_step(const Step &step, const unsigned char *const *events, std::size_t count, std::size_t first,
                unsigned char *const *columns) {
    const std::size_t written = has_avx2 ? write_together(step, events, count, first, columns) : 0;
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

template <typename Value>
void write_given_values(const Given &given, const Group &group, unsigned char *table) {
    const auto value_at = [&](std::size_t row) {
        Value value;
        std::memcpy(&value, given.values + row * sizeof value, sizeof value);
        return value;
    };
    Value *out = reinterpret_cast<Value *>(table) + group.first;
    if (given.is_constant) {
        std::fill_n(out, group.count, value_at(0));
    } else if (group.chosen.empty()) {
        std::copy_n(given.values, group.count * sizeof(Value), reinterpret_cast<unsigned char *>(out));
    } else {
        std::transform(group.chosen.begin(), group.chosen.end(), out, value_at);
    }
}

void write_given(const Column &column, const Given &given, const Group &group, unsigned char *out) {
    Bits bits{out};
    if (column.kind == Kind::boolean) {
        if (given.is_constant && group.count > 0 && *given.values != 0) bits.set(group.first, group.count);
        for (std::size_t i = 0; !given.is_constant && i < group.count; ++i)
            if (given.values[group.chosen.empty() ? i : group.chosen[i]] != 0) bits.set(group.first + i);
    } else if (width_of(column.kind) == 1) {
        write_given_values<std::uint8_t>(given, group, out);
    } else if (width_of(column.kind) == 2) {
        write_given_values<std::uint16_t>(given, group, out);
    } else {
        write_given_values<std::uint32_t>(given, group, out);
    }
}

inline void prefetch(const unsigned char *at) {
#ifdef __GNUC__
    __builtin_prefetch(at);
#else
    (void)at;
#endif
}

// The memory of a table while it is filled.
class Made {
  public:
    Made(const Plan &plan, std::size_t rows) : plan_(plan), rows_(rows), storage_(new Storage) { allocate(); }

    // Writes all rows of the groups; false if an event is outside of the data.
    bool write(std::vector<Group> &groups, const unsigned char *data, std::int64_t size);
    std::unique_ptr<ArrowArray> finish();

  private:
    void allocate();
    bool write_tile(Group &group, std::size_t end, const unsigned char *data, std::int64_t size);
    bool locate(const Group &group, std::size_t event, const unsigned char *data, std::int64_t size);

    const Plan &plan_;
    std::size_t rows_;
    std::unique_ptr<Storage> storage_;
    std::vector<unsigned char *> columns_;     // null for a column without values
    std::vector<Bits> valid_;                  // for each event
    std::vector<std::int64_t> absent_;         // for each event: rows without it
    std::vector<const unsigned char *> at_;    // of a tile: where its events are
    std::vector<std::size_t> tile_;            // for each of its rows, which of the offsets
    std::vector<unsigned char> narrow_;        // for each of its events, a copy if the data ends before `window_bytes`
    unsigned char *nothing_ = nullptr;         // zeros: validity and values of columns that are null in all rows
};

void Made::allocate() {
    // All counts are bounded: columns by their limit, and rows by the memory of the offsets.
    std::size_t bytes = aligned_bytes;  // not 0, which stands for no memory
    const auto room_for = [&bytes](std::size_t wanted) {
        const std::size_t at = bytes;
        bytes += (wanted + aligned_bytes - 1) / aligned_bytes * aligned_bytes;
        return at;
    };
    const std::size_t bits = rows_ / 8 + 1;
    std::vector<std::size_t> zeros, places;
    for (std::size_t i = 0; i < plan_.events; ++i) zeros.push_back(room_for(bits));
    std::size_t widest_nothing = 0;
    bool has_nothing = false;
    for (const Column &column : plan_.columns) {
        const auto width = static_cast<std::size_t>(width_of(column.kind));
        if (column.from == From::nowhere) {
            has_nothing = true;
            widest_nothing = width > widest_nothing ? width : widest_nothing;
        }
    }
    const std::size_t nothing = has_nothing ? room_for(rows_ * widest_nothing + bits) : 0;
    for (const Column &column : plan_.columns)
        places.push_back(column.from != From::nowhere && column.kind == Kind::boolean ? room_for(bits) : 0);
    const std::size_t zero_bytes = bytes;
    for (std::size_t i = 0; i < plan_.columns.size(); ++i) {
        const Column &column = plan_.columns[i];
        if (column.from != From::nowhere && column.kind != Kind::boolean)
            places[i] = room_for(rows_ * static_cast<std::size_t>(width_of(column.kind)));
    }
    storage_->memory.reset(static_cast<unsigned char *>(std::malloc(bytes + aligned_bytes)));
    unsigned char *memory = storage_->memory.get();
    if (memory == nullptr) throw std::bad_alloc();
    memory += aligned_bytes - reinterpret_cast<std::uintptr_t>(memory) % aligned_bytes;
    std::memset(memory, 0, zero_bytes);
    for (std::size_t at : zeros) valid_.push_back({memory + at});
    absent_.resize(plan_.events);
    nothing_ = has_nothing ? memory + nothing : nullptr;
    for (std::size_t at : places) columns_.push_back(at > 0 ? memory + at : nullptr);
}

// Finds the events with this number in the rows of the tile; false if one is outside of the data.
bool Made::locate(const Group &group, std::size_t event, const unsigned char *data, std::int64_t size) {
    const unsigned char *none = plan_.none[event].data(), *offsets = group.events[event];
    const std::size_t width = plan_.widths[event], count = tile_.size(), first = group.first + group.written;
    const std::int64_t max_offset = size - static_cast<std::int64_t>(width);
    const std::int64_t max_whole = size - static_cast<std::int64_t>(plan_.none[event].size());
    unsigned char *narrow = narrow_.data() + event * tile_rows * window_bytes;
    const unsigned char **at = at_.data() + event * tile_rows;
    std::size_t absent = 0;
    std::int64_t highest = -1;
    if (offsets == nullptr) {
        std::fill(at, at + count, none);
        absent = count;
    }
    for (std::size_t i = 0; offsets != nullptr && i < count; ++i) {
        const std::int64_t offset = offset_at(offsets, tile_[i]);
        highest = std::max(highest, offset);
        at[i] = offset < 0 ? none : data + offset;
        absent += offset < 0;
    }
    if (highest > max_offset) return false;
    for (std::size_t i = 0; highest > max_whole && i < count; ++i) {
        if (at[i] == none || at[i] - data <= max_whole) continue;
        std::memcpy(narrow + i * window_bytes, at[i], width);
        at[i] = narrow + i * window_bytes;
    }
    for (std::size_t line = 0; offsets != nullptr && line < width; line += line_bytes)
        for (std::size_t i = 0; i < count; ++i) prefetch(at[i] + std::min(line + line_bytes, width) - 1);
    absent_[event] += static_cast<std::int64_t>(absent);
    if (absent == 0) {
        valid_[event].set(first, count);
    } else if (absent < count) {
        for (std::size_t i = 0; i < count; ++i)
            if (at[i] != none) valid_[event].set(first + i);
    }
    return true;
}

// Writes the rows of the group before `end` that are not written yet, which are not more than fit into a tile.
bool Made::write_tile(Group &group, std::size_t end, const unsigned char *data, std::int64_t size) {
    const std::size_t begin = group.written, first = group.first + begin;
    if (group.chosen.empty()) {
        tile_.resize(std::min(end, group.rows) - begin);
        std::iota(tile_.begin(), tile_.end(), begin);
    } else {
        const auto from = group.chosen.begin() + static_cast<std::ptrdiff_t>(begin);
        tile_.assign(from, std::lower_bound(from, group.chosen.end(), end));
    }
    if (group.which != nullptr)
        for (std::size_t &row : tile_) row = (*group.which)[row];
    // Each event is located and prefetched while the values of the one before are written.
    if (plan_.events > 0 && !locate(group, 0, data, size)) return false;
    for (std::size_t event = 0; event < plan_.events; ++event) {
        if (event + 1 < plan_.events && !locate(group, event + 1, data, size)) return false;
        const unsigned char *const *at = at_.data() + event * tile_rows;
        for (const Step &step : plan_.steps[event])
            write_step(step, at, tile_.size(), first, &columns_[step.column]);
    }
    group.written += tile_.size();
    return true;
}

bool Made::write(std::vector<Group> &groups, const unsigned char *data, std::int64_t size) {
    std::size_t first = 0, rows = 0;
    for (Group &group : groups) {
        group.first = first;
        first += group.count;
        rows = group.rows > rows ? group.rows : rows;
    }
    at_.resize(tile_rows * plan_.events);
    narrow_.resize(tile_rows * plan_.events * window_bytes);
    tile_.reserve(tile_rows);
    // The same rows of all groups are neighbours in the data, so they are written together.
    for (std::size_t end = tile_rows; end < rows + tile_rows; end += tile_rows)
        for (Group &group : groups)
            if (group.written < group.count && !write_tile(group, end, data, size)) return false;
    for (std::size_t i = 0; i < plan_.columns.size(); ++i) {
        const Column &column = plan_.columns[i];
        if (column.from != From::given) continue;
        for (const Group &group : groups) write_given(column, group.given[column.source], group, columns_[i]);
    }
    return true;
}

std::unique_ptr<ArrowArray> Made::finish() {
    const std::size_t count = plan_.columns.size();
    const auto length = static_cast<std::int64_t>(rows_);
    Storage &storage = *storage_;
    storage.arrays.resize(count);
    storage.children.resize(count);
    storage.buffers.assign(2 * count + 1, nullptr);  // validity and values; the last is the validity of the rows
    for (std::size_t i = 0; i < count; ++i) {
        const Column &column = plan_.columns[i];
        std::int64_t nulls = 0;
        const unsigned char *valid = nullptr, *values = columns_[i];
        if (column.from == From::event) {
            nulls = absent_[column.source];
            valid = nulls > 0 ? valid_[column.source].bytes : nullptr;
        } else if (column.from == From::nowhere) {
            nulls = length;
            valid = values = nothing_;
        }
        storage.buffers[2 * i] = valid;
        storage.buffers[2 * i + 1] = values;
        storage.arrays[i] = {length, nulls, 0, 2, 0, &storage.buffers[2 * i], nullptr, nullptr, release, &storage};
        storage.children[i] = &storage.arrays[i];
    }
    std::unique_ptr<ArrowArray> table(new ArrowArray{length, 0, 0, 1, static_cast<std::int64_t>(count),
                                                     &storage.buffers[2 * count], storage.children.data(), nullptr,
                                                     release, &storage});
    storage.users = count + 1;
    storage_.release();
    return table;
}

// Reads one column: (source, kind, offset).
bool read_column(PyObject *one, Plan &plan, Py_ssize_t events, Py_ssize_t given) {
    Py_ssize_t source, offset;
    PyObject *kind_object;
    if (!PyTuple_Check(one)) {
        PyErr_SetString(PyExc_TypeError, "the columns of a table are tuples");
        return false;
    }
    if (!PyArg_ParseTuple(one, "nSn", &source, &kind_object, &offset)) return false;
    const Bytes kind_text(kind_object);
    const Kind kind = kind_text.size == 1 ? static_cast<Kind>(kind_text.begin[0]) : Kind(0);
    const int width = width_of(kind);
    if (width < 1 || source < -1 || source >= events + given || offset < 0 || offset > max_width_bytes - width) {
        PyErr_Format(PyExc_ValueError, "no column of a table: %R", one);
        return false;
    }
    const auto place = static_cast<std::size_t>(offset), bytes = static_cast<std::size_t>(width);
    if (source < 0) {
        plan.columns.push_back({From::nowhere, kind, 0, 0});
    } else if (source >= events) {
        const auto index = static_cast<std::size_t>(source - events);
        if (plan.given_bytes[index] != 0 && plan.given_bytes[index] != bytes) {
            PyErr_Format(PyExc_ValueError, "given values have one width: %R", one);
            return false;
        }
        plan.given_bytes[index] = bytes;
        plan.columns.push_back({From::given, kind, index, 0});
    } else {
        const auto index = static_cast<std::size_t>(source);
        std::vector<unsigned char> &none = plan.none[index];
        plan.widths[index] = std::max(plan.widths[index], place + bytes);
        none.resize(std::max(plan.widths[index], window_bytes));
        if (kind == Kind::f32) {  // a NaN
            none[place] = 0x7F;
            none[place + 1] = 0xC0;
        }
        plan.columns.push_back({From::event, kind, index, place});
    }
    return true;
}

// Finds the columns that are written together.
void find_steps(Plan &plan) {
    const std::vector<Column> &columns = plan.columns;
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
        Step step{first, i - first, std::min(begin, plan.none[source].size() - window_bytes), {}, {}, {}};
        step.order.fill(no_byte);
        for (std::size_t k = 0; k < step.count; ++k) {
            const Column &one = columns[first + k];
            const auto width = static_cast<std::size_t>(width_of(one.kind));
            step.offsets[k] = one.offset;
            step.widths[k] = one.kind == Kind::boolean ? 0 : static_cast<unsigned>(width);
            for (std::size_t byte = 0; byte < width; ++byte)
                step.order[k * 4 + byte] = static_cast<unsigned char>(one.offset - step.offset + width - 1 - byte);
        }
        plan.steps[source].push_back(step);
    }
}

// Table(columns, events, given, wanted)
PyObject *table_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *columns, *wanted;
    Py_ssize_t events, given;
    if (!PyArg_ParseTuple(arguments, "O!nnO!", &PyTuple_Type, &columns, &events, &given, &PyTuple_Type, &wanted))
        return nullptr;
    if (events < 0 || events > max_sources || given < 0 || given > max_sources || PyTuple_Size(columns) > max_columns) {
        PyErr_SetString(PyExc_ValueError, "too many columns or sources");
        return nullptr;
    }
    auto *self = allocated<TableObject>(type);
    if (self == nullptr) return nullptr;
    try {
        self->made = new Plan;
        Plan &plan = *self->made;
        plan.events = static_cast<std::size_t>(events);
        plan.given = static_cast<std::size_t>(given);
        plan.none.resize(plan.events);
        plan.widths.resize(plan.events);
        plan.steps.resize(plan.events);
        plan.given_bytes.resize(plan.given);
        plan.is_wanted.resize(plan.events);
        bool is_good = true;
        for (Py_ssize_t i = 0; is_good && i < PyTuple_Size(columns); ++i)
            is_good = read_column(PyTuple_GetItem(columns, i), plan, events, given);
        for (Py_ssize_t i = 0; is_good && i < PyTuple_Size(wanted); ++i) {
            const Py_ssize_t event = PyLong_AsSsize_t(PyTuple_GetItem(wanted, i));
            is_good = event >= 0 && event < events;
            if (is_good) {
                plan.is_wanted[static_cast<std::size_t>(event)] = true;
            } else if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "no event with this number");
            }
        }
        if (!is_good) {
            Py_DECREF(self);
            return nullptr;
        }
        find_steps(plan);
    } catch (const std::bad_alloc &) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject *>(self);
}

// The offsets of the rows, as indices.
struct Selection {
    bool is_given = false;
    std::size_t offsets = 0;  // their number
    std::vector<std::size_t> which;
};

// Reads a selection: None, or the number of offsets, and an index below it for each row.
bool read_selection(PyObject *one, Buffers &buffers, Selection &selection) {
    if (one == Py_None) return true;
    PyObject *which;
    Py_ssize_t offsets;
    if (!PyTuple_Check(one)) {
        PyErr_SetString(PyExc_TypeError, "the selection of a table is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(one, "nO", &offsets, &which)) return false;
    const Py_buffer *view = buffers.of(which);
    if (view == nullptr) return false;
    bool is_good = offsets >= 0 && offsets <= max_rows && view->len % static_cast<Py_ssize_t>(sizeof(std::int64_t)) == 0;
    const std::size_t rows = is_good ? static_cast<std::size_t>(view->len) / sizeof(std::int64_t) : 0;
    selection.is_given = true;
    selection.offsets = is_good ? static_cast<std::size_t>(offsets) : 0;
    selection.which.reserve(rows);
    for (std::size_t row = 0; is_good && row < rows; ++row) {
        const std::int64_t number = offset_at(static_cast<const unsigned char *>(view->buf), row);
        is_good = number >= 0 && number < offsets;
        selection.which.push_back(static_cast<std::size_t>(number));
    }
    if (!is_good) PyErr_SetString(PyExc_ValueError, "a table selects offsets that there are not");
    return is_good;
}

// Reads one group: (rows, events, given).
bool read_group(PyObject *one, const Plan &plan, const Selection &selection, Buffers &buffers, Group &group) {
    PyObject *events, *given;
    Py_ssize_t rows;
    if (!PyTuple_Check(one)) {
        PyErr_SetString(PyExc_TypeError, "the groups of a table are tuples");
        return false;
    }
    if (!PyArg_ParseTuple(one, "nO!O!", &rows, &PyTuple_Type, &events, &PyTuple_Type, &given)) return false;
    bool is_good = rows >= 0 && static_cast<std::size_t>(PyTuple_Size(events)) == plan.events &&
                   static_cast<std::size_t>(PyTuple_Size(given)) == plan.given;
    is_good = is_good && rows <= max_rows;
    group.rows = is_good ? static_cast<std::size_t>(rows) : 0;
    group.offsets = group.rows;
    if (selection.is_given) {
        is_good = is_good && selection.which.size() == group.rows;
        group.which = &selection.which;
        group.offsets = selection.offsets;
    }
    for (std::size_t i = 0; is_good && i < plan.events; ++i) {
        PyObject *offsets = PyTuple_GetItem(events, static_cast<Py_ssize_t>(i));
        if (offsets == Py_None) {
            group.events.push_back(nullptr);
            continue;
        }
        const Py_buffer *view = buffers.of(offsets);
        if (view == nullptr) return false;
        is_good = static_cast<std::size_t>(view->len) == group.offsets * sizeof(std::int64_t);
        group.events.push_back(static_cast<const unsigned char *>(view->buf));
    }
    for (std::size_t i = 0; is_good && i < plan.given; ++i) {
        const Py_buffer *view = buffers.of(PyTuple_GetItem(given, static_cast<Py_ssize_t>(i)));
        if (view == nullptr) return false;
        const auto bytes = static_cast<std::size_t>(view->len);
        const bool is_constant = bytes == plan.given_bytes[i];
        is_good = is_constant || bytes == group.rows * plan.given_bytes[i];
        group.given.push_back({static_cast<const unsigned char *>(view->buf), is_constant});
    }
    if (!is_good) PyErr_SetString(PyExc_ValueError, "a group of a table has sources of other sizes");
    return is_good;
}

// fill(data, groups, selection): the address of the table, and the capsule that owns it.
PyObject *table_fill(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 3 || !PyBytes_Check(arguments[0]) || !PyTuple_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "fill takes bytes, a tuple of groups, and a selection");
        return nullptr;
    }
    const Plan &plan = *reinterpret_cast<TableObject *>(object)->made;
    const auto *data = reinterpret_cast<const unsigned char *>(PyBytes_AsString(arguments[0]));
    const std::int64_t size = PyBytes_Size(arguments[0]);
    PyObject *tuple = arguments[1];
    std::unique_ptr<ArrowArray> table;
    try {
        Buffers buffers;
        Selection selection;
        if (!read_selection(arguments[2], buffers, selection)) return nullptr;
        std::vector<Group> groups(static_cast<std::size_t>(PyTuple_Size(tuple)));
        for (std::size_t i = 0; i < groups.size(); ++i)
            if (!read_group(PyTuple_GetItem(tuple, static_cast<Py_ssize_t>(i)), plan, selection, buffers, groups[i]))
                return nullptr;
        bool is_inside = false;
        {
            const WithoutGil others_run;
            std::size_t rows = 0;
            for (Group &group : groups) {
                choose_rows(plan, group);
                rows += group.count;
            }
            Made made(plan, rows);
            is_inside = made.write(groups, data, size);
            if (is_inside) table = made.finish();
        }
        if (!is_inside) {
            PyErr_SetString(PyExc_ValueError, "an event of a table is outside of the data");
            return nullptr;
        }
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(table.get(), capsule_name, free_capsule);
    if (capsule == nullptr) {
        table->release(table.get());
        return nullptr;
    }
    PyObject *address = PyLong_FromVoidPtr(table.release());
    if (address != nullptr) return Py_BuildValue("NN", address, capsule);
    Py_DECREF(capsule);
    return nullptr;
}

PyMethodDef table_methods[] = {
    {"fill", as_method(table_fill), METH_FASTCALL,
     "fill(data, groups, selection): the table, as the address of an ArrowArray and a capsule that frees it."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot table_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(table_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<TableObject>)},
    {Py_tp_methods, table_methods},
    {Py_tp_doc, const_cast<char *>("Table(columns, events, given, wanted): the columns of an Arrow table.")},
    {0, nullptr},
};

}  // namespace

PyType_Spec table_spec = {"slpstream.formats.kernel._kernel.Table", sizeof(TableObject), 0, Py_TPFLAGS_DEFAULT,
                          table_slots};

}  // namespace kernel
