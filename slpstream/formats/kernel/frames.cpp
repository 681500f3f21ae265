// Whole frames: Frames recognizes them, and Fields reads some of their values.
//
// A frame is whole if all of its events are declared, have the same frame number, and come in the order in which games
// send them: the first event, then the characters, each with both of its updates, and then the last event. Python reads
// all other frames event by event.

#include "frames.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

namespace kernel {

bool Layout::find(const unsigned char *data, Py_ssize_t start, Py_ssize_t limit, std::uint32_t players,
                  Frame &found) const {
    found.at.fill(absent);
    found.counted_size = found.events = 0;
    found.parts = 0;
    found.needed = 0;
    int not_updated = 0;  // characters
    for (Py_ssize_t at = start; at < limit && found.events < max_events;) {
        const unsigned char *event = data + at;
        const std::int32_t width = events.widths[*event];
        const Rule rule = events.rules[*event];
        if (width == 0 || !has_number(rule)) return false;
        if (width > limit - at) {
            found.needed = at + width;
            return false;
        }
        const auto number = static_cast<std::int32_t>(u32_at(event + events.number_offset));
        const bool is_first = found.events == 0;
        if (is_first) found.number = number;
        const bool can_begin = rule == rule_of(first_slot, has_first);
        if (number != found.number || (is_first ? !can_begin : has_first && can_begin)) return false;
        const auto offset = static_cast<std::int32_t>(at - start);
        found.codes[static_cast<std::size_t>(found.events++)] = *event;
        at += width;
        found.end = at;
        if (is_first) found.at[first_slot] = offset;
        if (has_character(rule)) {
            const int player = event[events.player_offset];
            const bool is_follower = event[events.follower_offset] > 0;
            if (player >= max_players || (players >> player & 1) == 0) return false;
            const int before = slot_of(player, is_follower, Rule::before);
            const int bit = player + (is_follower ? follower_bit : 0);
            if (rule == Rule::before) {
                const std::uint32_t all = is_follower ? found.parts >> follower_bit : found.parts;
                const std::uint32_t own = all & ((1U << max_players) - 1);
                if (own >> player != 0) return false;  // sent before, or out of order
                found.parts |= 1U << bit;
                found.at[static_cast<std::size_t>(before)] = offset;
                ++not_updated;
            } else {
                const auto after = static_cast<std::size_t>(before + 1);
                if (found.at[static_cast<std::size_t>(before)] == absent || found.at[after] != absent) return false;
                found.at[after] = offset;
                if (--not_updated == 0 && !has_last) return true;
            }
        } else if (is_counted(rule)) {
            found.parts |= 1U << (counter_bit + counter_of(rule));
            found.counted[static_cast<std::size_t>(found.counted_size++)] = offset;
        } else if (rule == Rule::last) {
            found.at[last_slot] = offset;
            return not_updated == 0;
        }
    }
    if (found.events < max_events) found.needed = limit + 1;
    return false;
}

bool read_place(PyObject *kind_object, Py_ssize_t offset, std::int32_t width, Place &made) {
    const Bytes kind_text(kind_object);
    const Kind kind = kind_text.size == 1 ? static_cast<Kind>(kind_text.begin[0]) : Kind(0);
    const int bytes = kernel::width_of(kind);
    if (bytes < 0 || offset < 0 || (bytes > 0 && offset > width - bytes)) {
        PyErr_SetString(PyExc_ValueError, "no value of an event");
        return false;
    }
    made = {kind, static_cast<std::int32_t>(offset)};
    return true;
}

bool read_places(PyObject *described, std::int32_t width, std::vector<Place> &made) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(described); ++i) {
        PyObject *kind;
        Py_ssize_t offset;
        Place place;
        if (!parse_item(described, i, "Sn", &kind, &offset)) return false;
        if (!read_place(kind, offset, width, place)) return false;
        if (kernel::width_of(place.kind) == 0) {
            PyErr_SetString(PyExc_ValueError, "no value of an event");
            return false;
        }
        made.push_back(place);
    }
    return true;
}

const unsigned char *found_again(const Layout &layout, PyObject *data, Frame &frame) {
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0) return nullptr;
    const auto *begin = reinterpret_cast<const unsigned char *>(bytes);
    if (layout.find(begin, 0, size, (1U << max_players) - 1, frame)) return begin;
    PyErr_SetString(PyExc_ValueError, "the data is not a whole frame");
    return nullptr;
}

namespace {

struct FramesMade {
    Layout layout;
    std::uint32_t players = 0;
    Py_ssize_t finalized_offset = -1;  // in the last event; -1 if the replay does not have it
    std::array<std::uint64_t, commands> counts{};
    Frame frame;  // found last
    // What `take` makes: the content of a frame, which also refers to `shared`, the frame, and the event that frames are
    // final.
    PyObject *content = nullptr, *shared = nullptr, *whole = nullptr, *final = nullptr;
    Py_ssize_t message_bytes_per_byte = 0;
    std::vector<Place> noted_places;  // in the second update of a player
    std::int64_t noted_value = 0;

    FramesMade() = default;
    FramesMade(const FramesMade &) = delete;
    FramesMade &operator=(const FramesMade &) = delete;
    ~FramesMade() {
        Py_XDECREF(content);
        Py_XDECREF(shared);
        Py_XDECREF(whole);
        Py_XDECREF(final);
    }

    void count() {
        for (int i = 0; i < frame.events; ++i) ++counts[frame.codes[static_cast<std::size_t>(i)]];
    }

    // Whether a player in the frame that was found at `start` has the noted value.
    bool is_noted(const unsigned char *start) const {
        for (const Place &place : noted_places)
            for (int player = 0; player < max_players; ++player) {
                const std::int32_t at = frame.at[static_cast<std::size_t>(slot_of(player, false, Rule::after))];
                if (at != absent && integer_at(start + at + place.offset, place.kind) == noted_value) return true;
            }
        return false;
    }

    // The latest finalized frame in the last event of the frame that was found at `start`.
    std::int32_t latest_finalized(const unsigned char *start) const {
        return static_cast<std::int32_t>(u32_at(start + frame.at[last_slot] + finalized_offset));
    }
};

struct FramesObject {
    PyObject_HEAD
    FramesMade *made;
};

// Reads the places of values to note, which may be null. Sets an exception and returns false if they are none of integers.
bool read_noted(FramesMade &made, PyObject *noted_places) {
    if (noted_places == nullptr) return true;
    try {
        if (!read_places(noted_places, made.layout.width_of(Rule::after), made.noted_places)) return false;
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
        return false;
    }
    const auto is_of_integer = [](const Place &place) { return is_integer(place.kind); };
    if (std::all_of(made.noted_places.begin(), made.noted_places.end(), is_of_integer)) return true;
    PyErr_SetString(PyExc_ValueError, "only integers are noted");
    return false;
}

// Frames(widths, rules, places, players, finalized_offset, (content, shared, message_bytes_per_byte, whole, final),
//        noted_places=(), noted_value=0)
PyObject *frames_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *widths, *rules, *places, *players_object, *content, *shared, *whole, *final, *noted_places = nullptr;
    Py_ssize_t finalized, message_bytes_per_byte;
    long long noted_value = 0;
    if (!PyArg_ParseTuple(arguments, "OOOSn(OOnOO)|O!L", &widths, &rules, &places, &players_object, &finalized, &content,
                          &shared, &message_bytes_per_byte, &whole, &final, &PyTuple_Type, &noted_places, &noted_value))
        return nullptr;
    auto *self = allocated<FramesObject>(type);
    if (self == nullptr) return nullptr;
    self->made = new (std::nothrow) FramesMade;
    if (self->made == nullptr) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    FramesMade &made = *self->made;
    made.content = Py_NewRef(content);
    made.shared = Py_NewRef(shared);
    made.message_bytes_per_byte = message_bytes_per_byte;
    made.whole = Py_NewRef(whole);
    made.final = Py_NewRef(final);
    made.players = bits_of_players(Bytes(players_object));
    made.noted_value = noted_value;
    if (!made.layout.read(widths, rules, places) || !read_noted(made, noted_places)) {
        Py_DECREF(self);
        return nullptr;
    }
    if (finalized >= 0 && finalized + 4 <= made.layout.width_of(Rule::last)) made.finalized_offset = finalized;
    return reinterpret_cast<PyObject *>(self);
}

// A part of a bytes object.
struct Span {
    const unsigned char *data;
    Py_ssize_t start, limit;
};

constexpr Py_ssize_t longest_cut = 1 << 14;  // a frame that is cut off and longer than this is not waited for

// Reads the arguments data, start and limit. An empty span stands for one that is not within the data. Sets an exception
// and returns false if these are no such arguments.
bool read_span(const char *name, PyObject *const *arguments, Py_ssize_t count, Span &span) {
    if (count != 3) {
        PyErr_Format(PyExc_TypeError, "%s takes data, start and limit", name);
        return false;
    }
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(arguments[0], &bytes, &size) < 0) return false;
    span = {reinterpret_cast<const unsigned char *>(bytes), PyLong_AsSsize_t(arguments[1]),
            PyLong_AsSsize_t(arguments[2])};
    if (PyErr_Occurred()) return false;
    if (span.start < 0 || span.limit > size) span.start = span.limit = 0;
    return true;
}

// match(data, start, limit): the whole frame at `start`, or None.
PyObject *frames_match(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    FramesMade &made = *reinterpret_cast<FramesObject *>(object)->made;
    Frame &frame = made.frame;
    Span span;
    if (!read_span("match", arguments, count, span)) return nullptr;
    const auto [data, start, limit] = span;
    if (!made.layout.find(data, start, limit, made.players, frame)) {
        frame.events = 0;
        Py_RETURN_NONE;
    }
    made.count();
    PyObject *finalized = Py_None;
    if (made.finalized_offset >= 0) {
        finalized = PyLong_FromLong(made.latest_finalized(data + start));
        if (finalized == nullptr) return nullptr;
    } else {
        Py_INCREF(finalized);
    }
    return Py_BuildValue("niNI", frame.end, static_cast<int>(frame.number), finalized, frame.parts);
}

// The numbers of the `pending` frames up to `through`, in ascending order. Sets an exception and returns false if that
// fails.
bool numbers_through(PyObject *pending, long long through, std::vector<long long> &numbers) {
    PyObject *key, *frame;
    Py_ssize_t at = 0;
    while (PyDict_Next(pending, &at, &key, &frame)) {
        const long long number = PyLong_AsLongLong(key);
        if (number == -1 && PyErr_Occurred()) return false;
        if (number <= through) numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    return true;
}

// Moves the `pending` frames up to `through` to a new list.
PyObject *taken_through(PyObject *pending, long long through) {
    std::vector<long long> numbers;
    if (!numbers_through(pending, through, numbers)) return nullptr;
    PyObject *frames = PyList_New(0);
    for (std::size_t i = 0; frames != nullptr && i < numbers.size(); ++i) {
        const Owned number(PyLong_FromLongLong(numbers[i]));
        PyObject *frame = number ? PyDict_GetItemWithError(pending, number.get()) : nullptr;
        if (frame == nullptr || PyList_Append(frames, frame) < 0 || PyDict_DelItem(pending, number.get()) < 0)
            Py_CLEAR(frames);
    }
    return frames;
}

PyObject *list_of(PyObject *object) {
    PyObject *list = PyList_New(1);
    if (list != nullptr && PyList_SetItem(list, 0, Py_NewRef(object)) != 0) Py_CLEAR(list);
    return list;
}

// What `take` knows of the frames before.
struct Sequence {
    long long next, through;  // the next frame number, and the highest that is final
    std::uint32_t characters;
    PyObject *pending, *out;
    PyObject *newest = nullptr;  // borrowed from `out`
    bool has_noted = false;
    std::int32_t noted = 0;  // the last frame that has the noted value
};

constexpr long long none_through = std::numeric_limits<long long>::min();
constexpr std::uint32_t all_characters = (1U << counter_bit) - 1;

// Adds the frame that was found at `start`, which has `bytes` and ends at the file offset `end`. Sets an exception and
// returns false if that fails.
bool add_frame(const FramesMade &made, const unsigned char *start, Py_ssize_t bytes, long long end,
               Sequence &sequence) {
    const Frame &frame = made.frame;
    const Owned data(PyBytes_FromStringAndSize(reinterpret_cast<const char *>(start), bytes));
    const Owned message_bytes(PyLong_FromSsize_t(made.message_bytes_per_byte * bytes));
    const Owned parts(PyLong_FromUnsignedLong(frame.parts)), offset(PyLong_FromLongLong(end));
    const Owned number(PyLong_FromLong(frame.number)), revision(PyLong_FromLong(0));
    if (!data || !message_bytes || !parts || !offset || !number || !revision) return false;
    const Owned content(PyObject_CallFunctionObjArgs(made.content, message_bytes.get(), data.get(), made.shared,
                                                     parts.get(), nullptr));
    if (!content) return false;
    const Owned whole(PyObject_CallFunctionObjArgs(made.whole, offset.get(), number.get(), revision.get(),
                                                   content.get(), nullptr));
    if (!whole || PyList_Append(sequence.out, whole.get()) < 0) return false;
    sequence.newest = whole.get();
    ++sequence.next;
    if (made.is_noted(start)) {
        sequence.has_noted = true;
        sequence.noted = frame.number;
    }
    long long through = frame.number;
    if (made.finalized_offset >= 0) through = std::min<long long>(through, made.latest_finalized(start));
    const bool is_alone = through == frame.number && PyDict_Size(sequence.pending) == 0;
    if (!is_alone && PyDict_SetItem(sequence.pending, number.get(), whole.get()) < 0) return false;
    if (through <= sequence.through) return true;
    const Owned frames(is_alone ? list_of(whole.get()) : taken_through(sequence.pending, through));
    if (!frames) return false;
    if (PyList_Size(frames.get()) == 0) return true;
    sequence.through = through;
    const Owned number_through(is_alone ? Py_NewRef(number.get()) : PyLong_FromLongLong(through));
    if (!number_through) return false;
    const Owned final(
        PyObject_CallFunctionObjArgs(made.final, offset.get(), number_through.get(), frames.get(), nullptr));
    return final && PyList_Append(sequence.out, final.get()) == 0;
}

// take(data, start, limit, base, next, through, pending, max_pending, characters, out)
PyObject *frames_take(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 10 || !PyDict_Check(arguments[6]) || !PyList_Check(arguments[9])) {
        PyErr_SetString(PyExc_TypeError, "take takes bytes, numbers, a dict and a list");
        return nullptr;
    }
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(arguments[0], &bytes, &size) < 0) return nullptr;
    Py_ssize_t start = PyLong_AsSsize_t(arguments[1]);
    const Py_ssize_t limit = std::min(PyLong_AsSsize_t(arguments[2]), size);
    const long long base = PyLong_AsLongLong(arguments[3]);
    const bool has_through = arguments[5] != Py_None;
    Sequence sequence{PyLong_AsLongLong(arguments[4]), has_through ? PyLong_AsLongLong(arguments[5]) : none_through, 0,
                      arguments[6], arguments[9]};
    const Py_ssize_t max_pending = PyLong_AsSsize_t(arguments[7]);
    sequence.characters = static_cast<std::uint32_t>(PyLong_AsUnsignedLongMask(arguments[8]));
    if (PyErr_Occurred()) return nullptr;
    FramesMade &made = *reinterpret_cast<FramesObject *>(object)->made;
    const auto *data = reinterpret_cast<const unsigned char *>(bytes);
    const Frame &frame = made.frame;
    try {
        while (start >= 0 && start < limit && PyDict_Size(sequence.pending) < max_pending &&
               made.layout.find(data, start, limit, made.players, made.frame) && frame.number == sequence.next &&
               frame.number > sequence.through && (frame.parts & all_characters) == sequence.characters) {
            if (!add_frame(made, data + start, frame.end - start, base + frame.end, sequence)) return nullptr;
            made.count();
            start = frame.end;
        }
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
    made.frame.events = 0;
    const Owned through(sequence.through == none_through ? Py_NewRef(Py_None) : PyLong_FromLongLong(sequence.through));
    const Owned noted(sequence.has_noted ? PyLong_FromLong(sequence.noted) : Py_NewRef(Py_None));
    if (!through || !noted) return nullptr;
    PyObject *newest = sequence.newest == nullptr ? Py_None : sequence.newest;
    return Py_BuildValue("nLOOO", start, sequence.next, through.get(), newest, noted.get());
}

// needed(data, start, limit): the position up to which bytes are needed to tell whether the frame at `start` is whole,
// or 0 if it is not.
PyObject *frames_needed(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    FramesMade &made = *reinterpret_cast<FramesObject *>(object)->made;
    Span span;
    if (!read_span("needed", arguments, count, span)) return nullptr;
    const bool is_whole = made.layout.find(span.data, span.start, span.limit, made.players, made.frame);
    made.frame.events = 0;
    const Py_ssize_t needed = is_whole || span.start >= span.limit ? 0 : made.frame.needed;
    return PyLong_FromSsize_t(needed - span.start > longest_cut ? 0 : needed);
}

PyObject *frames_put_back(PyObject *object, PyObject *) {
    FramesMade &made = *reinterpret_cast<FramesObject *>(object)->made;
    for (int i = 0; i < made.frame.events; ++i) --made.counts[made.frame.codes[static_cast<std::size_t>(i)]];
    made.frame.events = 0;
    Py_RETURN_NONE;
}

PyObject *frames_take_counts(PyObject *object, PyObject *) {
    FramesMade &made = *reinterpret_cast<FramesObject *>(object)->made;
    PyObject *counts = PyDict_New();
    for (int code = 0; counts != nullptr && code < commands; ++code) {
        std::uint64_t &count = made.counts[static_cast<std::size_t>(code)];
        if (count == 0) continue;
        PyObject *key = PyLong_FromLong(code), *value = PyLong_FromUnsignedLongLong(count);
        if (key == nullptr || value == nullptr || PyDict_SetItem(counts, key, value) < 0) Py_CLEAR(counts);
        Py_XDECREF(key);
        Py_XDECREF(value);
        count = 0;
    }
    return counts;
}

PyObject *object_at(const unsigned char *at, Kind kind) {
    if (kind == Kind::f32) return PyFloat_FromDouble(static_cast<double>(float_at(at)));
    if (kind == Kind::boolean) return PyBool_FromLong(*at != 0);
    return PyLong_FromLongLong(integer_at(at, kind));
}

struct FieldsMade {
    Layout layout;
    Rule rule = Rule::first;
    std::vector<Place> places;
    std::int32_t begin = 0, end = 0;  // of the values in an event
    PyObject *make = nullptr;

    FieldsMade() = default;
    FieldsMade(const FieldsMade &) = delete;
    FieldsMade &operator=(const FieldsMade &) = delete;
    ~FieldsMade() { Py_XDECREF(make); }

    // What `make` returns for the values of an event.
    PyObject *object(const unsigned char *event) const {
        PyObject *values = PyTuple_New(static_cast<Py_ssize_t>(places.size()));
        for (std::size_t i = 0; values != nullptr && i < places.size(); ++i) {
            PyObject *value = object_at(event + places[i].offset, places[i].kind);
            if (value == nullptr || PyTuple_SetItem(values, static_cast<Py_ssize_t>(i), value) < 0) Py_CLEAR(values);
        }
        if (values == nullptr) return nullptr;
        PyObject *object = PyObject_CallObject(make, values);
        Py_DECREF(values);
        return object;
    }
};

struct FieldsObject {
    PyObject_HEAD
    FieldsMade *made;
};

bool fill_fields(FieldsMade &made, PyObject *rule_object, PyObject *fields) {
    const Bytes rule(rule_object);
    made.rule = rule.size == 1 ? static_cast<Rule>(rule.begin[0]) : Rule::plain;
    if (made.rule != Rule::first && !has_character(made.rule)) {
        PyErr_SetString(PyExc_ValueError, "fields are those of the first event or of characters");
        return false;
    }
    if (!read_places(fields, made.layout.width_of(made.rule), made.places)) return false;
    for (const Place &place : made.places) {
        made.begin = made.end == 0 ? place.offset : std::min(made.begin, place.offset);
        made.end = std::max(made.end, place.offset + kernel::width_of(place.kind));
    }
    return true;
}

// Fields(widths, rules, places, rule, fields, make)
PyObject *fields_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *widths, *rules, *places, *rule, *fields, *make;
    if (!PyArg_ParseTuple(arguments, "OOOSO!O", &widths, &rules, &places, &rule, &PyTuple_Type, &fields, &make))
        return nullptr;
    auto *self = allocated<FieldsObject>(type);
    if (self == nullptr) return nullptr;
    try {
        self->made = new FieldsMade;
        self->made->make = Py_NewRef(make);
        if (!self->made->layout.read(widths, rules, places) || !fill_fields(*self->made, rule, fields)) {
            Py_DECREF(self);
            return nullptr;
        }
    } catch (const std::bad_alloc &) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject *>(self);
}

// read(data, before=None): what `make` returned for the events of a frame, by player index; 0 for the first event.
PyObject *fields_read(PyObject *object, PyObject *const *arguments, Py_ssize_t argument_count) {
    if (argument_count != 1 && argument_count != 2) {
        PyErr_SetString(PyExc_TypeError, "read takes data, and the frame before");
        return nullptr;
    }
    const FieldsMade &made = *reinterpret_cast<FieldsObject *>(object)->made;
    Frame frame, frame_before;
    const unsigned char *begin = found_again(made.layout, arguments[0], frame), *before = nullptr;
    if (begin == nullptr) return nullptr;
    if (argument_count == 2 && arguments[1] != Py_None) {
        before = found_again(made.layout, arguments[1], frame_before);
        if (before == nullptr) return nullptr;
    }
    PyObject *found = PyDict_New();
    const int count = made.rule == Rule::first ? 1 : max_players;
    for (int player = 0; found != nullptr && player < count; ++player) {
        const int number = made.rule == Rule::first ? first_slot : slot_of(player, false, made.rule);
        const auto slot = static_cast<std::size_t>(number);
        const std::int32_t at = frame.at[slot];
        if (at == absent) continue;
        const std::int32_t at_before = before == nullptr ? absent : frame_before.at[slot];
        if (at_before != absent && std::memcmp(begin + at + made.begin, before + at_before + made.begin,
                                               static_cast<std::size_t>(made.end - made.begin)) == 0)
            continue;
        PyObject *key = PyLong_FromLong(player), *value = made.object(begin + at);
        if (key == nullptr || value == nullptr || PyDict_SetItem(found, key, value) < 0) Py_CLEAR(found);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return found;
}

PyMethodDef frames_methods[] = {
    {"match", as_method(frames_match), METH_FASTCALL,
     "match(data, start, limit): end, number, latest finalized frame and parts of the frame at `start`, or None."},
    {"take", as_method(frames_take), METH_FASTCALL,
     "take(data, start, limit, base, next, through, pending, max_pending, characters, out): the next frames."},
    {"needed", as_method(frames_needed), METH_FASTCALL,
     "needed(data, start, limit): up to where bytes are needed to tell whether the frame at `start` is whole, or 0."},
    {"put_back", as_method(frames_put_back), METH_NOARGS, "put_back(): don't count the events of the last frame."},
    {"take_counts", as_method(frames_take_counts), METH_NOARGS, "take_counts(): the number of events by command."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef fields_methods[] = {
    {"read", as_method(fields_read), METH_FASTCALL,
     "read(data, before=None): the values of a frame, by player index; only changed ones if you pass the frame before."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot frames_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(frames_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<FramesObject>)},
    {Py_tp_methods, frames_methods},
    {Py_tp_doc, const_cast<char *>("Frames(widths, rules, places, players, finalized_offset, makes, noted_places, noted_value): "
                                       "finds whole frames.")},
    {0, nullptr},
};

PyType_Slot fields_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(fields_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<FieldsObject>)},
    {Py_tp_methods, fields_methods},
    {Py_tp_doc, const_cast<char *>("Fields(widths, rules, places, rule, fields, make): reads values of frames.")},
    {0, nullptr},
};

}  // namespace

PyType_Spec frames_spec = {"slpstream.formats.kernel._kernel.Frames", sizeof(FramesObject), 0, Py_TPFLAGS_DEFAULT,
                           frames_slots};
PyType_Spec fields_spec = {"slpstream.formats.kernel._kernel.Fields", sizeof(FieldsObject), 0, Py_TPFLAGS_DEFAULT,
                           fields_slots};

}  // namespace kernel
