// Walk: the events of all frames of a game, found event by event.
//
// Each event begins where the one before ends. A rule for each command byte defines the effect of its events on
// their sending, which is one transmission of a frame. Python passes the rules, and finds the same events without the
// kernel (`slpstream/formats/slippi/frame_index.py`).
//
// In games whose sendings have no last event, a sending is complete when all of its characters are updated and none of
// the sending before is missing (`slpstream/formats/slippi/completion.py`). Later events of it do not count.

#include "kernel.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

namespace kernel {
namespace {

constexpr int keys = 2 * 256;  // player index and follower flag
constexpr int number_bytes = 4;
constexpr std::int64_t absent = -1;
constexpr Py_ssize_t max_offset = 1 << 24;  // in an event
constexpr std::size_t max_reserved_slots = 16;  // more than games have; a hostile file can have any number

bool is_known(Rule rule) {
    switch (rule) {
        case Rule::ignored: case Rule::plain: case Rule::first: case Rule::last: case Rule::before: case Rule::after:
            return true;
        default: return is_counted(rule);
    }
}

// The events of one command and character, of which a sending has at most one.
struct Slot {
    int command, key;
    std::int64_t first_row, first_at;   // the first sending that has one, and the event there
    std::vector<std::int64_t> offsets;  // by sending, up to the last one that has one
};

// The events of one command of which a sending can have any number. Those of sending i begin with number firsts[i].
struct Things {
    int command;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> firsts;  // up to the last sending that has one
};

using SlotNumbers = std::vector<int>;  // of one command by key; empty before the first event

// Decides when a sending is complete. A character is identified by its key.
class Completion {
  public:
    // Expect this character in the first sending, which is the next one.
    void await(int key) { add(key); }

    // Begins a sending, which should have the characters of the one before.
    void begin() {
        ++sending_;
        missing_ = characters_;
        characters_ = updated_ = 0;
        is_complete_ = false;
    }

    // Takes an event of a character.
    void add(int key) {
        std::int64_t &seen = seen_in_[static_cast<std::size_t>(key)];
        if (seen == sending_) return;
        if (seen == sending_ - 1) --missing_;
        seen = sending_;
        ++characters_;
    }

    // Takes an update of a character, which can make the sending complete.
    void update(int key) {
        add(key);
        std::int64_t &updated = updated_in_[static_cast<std::size_t>(key)];
        if (updated != sending_) ++updated_;
        updated = sending_;
        is_complete_ = is_complete_ || (updated_ == characters_ && missing_ == 0);
    }

    bool is_complete() const { return is_complete_; }

  private:
    static constexpr std::int64_t never = -2;  // not the sending before the first

    // The last sending with this character, and with its update.
    std::vector<std::int64_t> seen_in_ = std::vector<std::int64_t>(keys, never);
    std::vector<std::int64_t> updated_in_ = std::vector<std::int64_t>(keys, never);
    std::int64_t sending_ = 0;
    int characters_ = 0, updated_ = 0;  // of this sending
    int missing_ = 0;                   // characters of the sending before that this one lacks
    bool is_complete_ = false;
};

class Walk {
  public:
    Events events;
    std::int64_t max_counted = 0;
    std::int64_t max_offsets = 0;  // slots times sendings
    bool has_completion = false;   // whether sendings have no last event
    Completion completion;

    std::vector<std::int32_t> numbers;
    std::vector<Slot> slots;
    std::vector<Things> things;
    std::int64_t start = 0;  // of the first sending
    std::int64_t sendings = 0;
    std::int64_t stop = 0;
    bool is_finished = false;

    // Reads `data[at:limit]`, up to the first event that is not declared or not whole.
    void run(const unsigned char *data, std::int64_t at, std::int64_t limit);
    // Keeps or drops the last sending if it has no end and is not complete. The slots are then in the order of their first events.
    void finish(bool keep_open);
    // Whether there are more than `max_offsets`. From then on sendings and slots are only counted.
    bool is_too_large() const { return too_large_row_ >= 0; }

  private:
    void open(std::int32_t number, std::int64_t at);
    void close(std::int64_t end);
    void drop();
    void add(int code, int key, std::int64_t at);
    void add_counted(int code, std::int64_t at);
    Slot &new_slot(int code, int key, std::int64_t at);

    std::array<SlotNumbers, commands> slot_numbers_{};
    std::int64_t open_at_ = -1;  // start of the sending that is being read; -1 before its first event
    std::int32_t number_ = 0;
    bool is_open_ = false;       // whether it has a frame number
    std::int64_t limit_ = 0;
    std::int64_t too_large_row_ = -1;
    std::size_t expected_sendings_ = 0;
};

void Walk::open(std::int32_t number, std::int64_t at) {
    is_open_ = true;
    number_ = number;
    if (open_at_ < 0) open_at_ = at;
}

void Walk::close(std::int64_t end) {
    if (sendings == 0) {
        start = open_at_;
        const std::int64_t max_reserved = max_offsets / static_cast<std::int64_t>(max_reserved_slots);
        expected_sendings_ = static_cast<std::size_t>(std::min((limit_ - start) / (end - start) + 1, max_reserved));
        numbers.reserve(expected_sendings_);
        for (std::size_t i = 0; i < std::min(slots.size(), max_reserved_slots); ++i)
            slots[i].offsets.reserve(expected_sendings_);
    }
    if (!is_too_large()) numbers.push_back(number_);
    ++sendings;
    open_at_ = -1;
    is_open_ = false;
    if (!is_too_large() && static_cast<std::int64_t>(slots.size()) > max_offsets / (sendings + 1))
        too_large_row_ = sendings;
}

Slot &Walk::new_slot(int code, int key, std::int64_t at) {
    slots.push_back({code, key, sendings, at, {}});
    if (!is_too_large() && static_cast<std::int64_t>(slots.size()) > max_offsets / (sendings + 1))
        too_large_row_ = sendings;
    if (!is_too_large() && slots.size() <= max_reserved_slots) slots.back().offsets.reserve(expected_sendings_);
    return slots.back();
}

void Walk::add(int code, int key, std::int64_t at) {
    SlotNumbers &numbers_of_command = slot_numbers_[static_cast<std::size_t>(code)];
    if (numbers_of_command.empty()) numbers_of_command.assign(keys, -1);
    int &number = numbers_of_command[static_cast<std::size_t>(key)];
    if (number < 0) {
        number = static_cast<int>(slots.size());
        new_slot(code, key, at);
    }
    Slot &slot = slots[static_cast<std::size_t>(number)];
    if (slot.first_row == sendings) slot.first_at = at;
    if (is_too_large()) return;
    const auto row = static_cast<std::size_t>(sendings);
    if (slot.offsets.size() > row) {
        slot.offsets[row] = at;
        return;
    }
    if (slot.offsets.size() < row) slot.offsets.resize(row, absent);
    slot.offsets.push_back(at);
}

void Walk::add_counted(int code, std::int64_t at) {
    if (is_too_large()) return;
    const auto is_same = [code](const Things &one) { return one.command == code; };
    auto found = std::find_if(things.begin(), things.end(), is_same);
    if (found == things.end()) found = things.insert(found, {code, {}, {}});
    found->firsts.resize(static_cast<std::size_t>(sendings) + 1, static_cast<std::int64_t>(found->offsets.size()));
    found->offsets.push_back(at);
}

void Walk::drop() {
    const auto rows = static_cast<std::size_t>(sendings);
    const auto is_new = [this](const Slot &slot) { return slot.first_row == sendings; };
    slots.erase(std::remove_if(slots.begin(), slots.end(), is_new), slots.end());
    for (Slot &slot : slots)
        if (slot.offsets.size() > rows) slot.offsets.resize(rows);
    for (Things &one : things) {
        if (one.firsts.size() <= rows) continue;
        one.offsets.resize(static_cast<std::size_t>(one.firsts[rows]));
        one.firsts.resize(rows);
    }
    const auto is_empty = [](const Things &one) { return one.offsets.empty(); };
    things.erase(std::remove_if(things.begin(), things.end(), is_empty), things.end());
}

void Walk::finish(bool keep_open) {
    is_finished = true;
    if (is_open_ && (keep_open || completion.is_complete())) {
        close(stop);
    } else if (is_open_) {
        drop();
    }
    if (too_large_row_ >= sendings) too_large_row_ = -1;  // too many only with the dropped sending
    const auto is_earlier = [](const Slot &one, const Slot &other) { return one.first_at < other.first_at; };
    std::sort(slots.begin(), slots.end(), is_earlier);
    if (is_too_large()) return;
    for (Slot &slot : slots) slot.offsets.resize(static_cast<std::size_t>(sendings), absent);
    for (Things &one : things)
        one.firsts.resize(static_cast<std::size_t>(sendings) + 1, static_cast<std::int64_t>(one.offsets.size()));
}

void Walk::run(const unsigned char *data, std::int64_t at, std::int64_t limit) {
    std::vector<std::int64_t> seen_in(keys, -1);  // the last sending with this character
    std::array<std::int64_t, counters> counts{};
    limit_ = limit;
    while (at < limit) {
        const int code = data[at];
        const std::int64_t width = events.widths[static_cast<std::size_t>(code)];
        if (width == 0 || width > limit - at) break;
        const Rule rule = events.rules[static_cast<std::size_t>(code)];
        if (!has_number(rule)) {
            if (open_at_ < 0 && rule != Rule::ignored) open_at_ = at;
            at += width;
            continue;
        }
        const unsigned char *bytes = data + at;
        const auto number = static_cast<std::int32_t>(u32_at(bytes + events.number_offset));
        const int key = has_character(rule) ? bytes[events.player_offset] << 1 | (bytes[events.follower_offset] > 0) : 0;
        std::int64_t &seen = seen_in[static_cast<std::size_t>(key)];
        if (is_open_ && (number != number_ || rule == Rule::first || (rule == Rule::before && seen == sendings)))
            close(at);
        if (!is_open_) {
            open(number, at);
            counts.fill(0);
            if (has_completion) completion.begin();
        }
        if (has_character(rule)) seen = sendings;
        const bool is_late = has_completion && completion.is_complete();
        if (has_completion && rule == Rule::before) completion.add(key);
        if (has_completion && rule == Rule::after) completion.update(key);
        if (is_counted(rule)) {
            const auto counter = static_cast<std::size_t>(counter_of(rule));
            if (++counts[counter] <= max_counted && !is_late) add_counted(code, at);
        } else if (!is_late) {
            add(code, key, at);
        }
        at += width;
        if (rule == Rule::last) close(at);
    }
    stop = at;
}

struct WalkObject {
    PyObject_HEAD
    Walk *made;
};

// Walk(data, start, limit, widths, rules, places, max_counted, max_offsets, players)
PyObject *walk_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *data, *widths, *rules, *places, *players;
    Py_ssize_t start, limit, max_counted, max_offsets;
    if (!PyArg_ParseTuple(arguments, "SnnOOOnnO", &data, &start, &limit, &widths, &rules, &places, &max_counted,
                          &max_offsets, &players))
        return nullptr;
    if (players != Py_None && !PyBytes_Check(players)) {
        PyErr_SetString(PyExc_TypeError, "the players of a walk are bytes or None");
        return nullptr;
    }
    if (max_counted < 0 || max_offsets < 0 || start < 0 || limit > PyBytes_Size(data)) {
        PyErr_SetString(PyExc_ValueError, "no walk over these bytes");
        return nullptr;
    }
    auto *self = allocated<WalkObject>(type);
    if (self == nullptr) return nullptr;
    try {
        self->made = new Walk;
        Walk &made = *self->made;
        made.max_counted = max_counted;
        made.max_offsets = max_offsets;
        made.has_completion = players != Py_None;
        if (made.has_completion) {
            const Bytes awaited(players);
            for (Py_ssize_t i = 0; i < awaited.size; ++i)
                made.completion.await(static_cast<unsigned char>(awaited.begin[i]) << 1);
        }
        if (!read_events(widths, rules, places, made.events)) {
            Py_DECREF(self);
            return nullptr;
        }
        const auto *bytes = reinterpret_cast<const unsigned char *>(PyBytes_AsString(data));
        const WithoutGil others_run;
        made.run(bytes, start, limit);
    } catch (const std::bad_alloc &) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject *>(self);
}

// An array of 64-bit integers that Python reads and writes as a buffer.
struct OffsetsObject {
    PyObject_HEAD
    std::vector<std::int64_t> *made;
};

int offsets_buffer(PyObject *object, Py_buffer *view, int flags) {
    static std::int64_t nothing = 0;
    std::vector<std::int64_t> &values = *reinterpret_cast<OffsetsObject *>(object)->made;
    const auto bytes = static_cast<Py_ssize_t>(values.size() * sizeof(std::int64_t));
    return PyBuffer_FillInfo(view, object, bytes > 0 ? values.data() : &nothing, bytes, 0, flags);
}

PyObject *offsets_of(PyObject *type, std::vector<std::int64_t> &values) {
    auto *object = allocated<OffsetsObject>(reinterpret_cast<PyTypeObject *>(type));
    if (object == nullptr) return nullptr;
    object->made = new (std::nothrow) std::vector<std::int64_t>(std::move(values));
    if (object->made != nullptr) return reinterpret_cast<PyObject *>(object);
    Py_DECREF(object);
    return PyErr_NoMemory();
}

// Appends a new object; fails if it is null.
bool append(PyObject *list, PyObject *made) {
    const bool is_appended = made != nullptr && PyList_Append(list, made) == 0;
    Py_XDECREF(made);
    return is_appended;
}

PyObject *arrays_of(Walk &walk, PyObject *type) {
    PyObject *slots = PyList_New(0), *things = PyList_New(0);
    bool is_made = slots != nullptr && things != nullptr;
    for (auto slot = walk.slots.begin(); is_made && slot != walk.slots.end(); ++slot) {
        PyObject *offsets = offsets_of(type, slot->offsets);
        is_made = offsets != nullptr && append(slots, Py_BuildValue("iiNN", slot->command, slot->key >> 1,
                                                                    PyBool_FromLong(slot->key & 1), offsets));
    }
    for (auto one = walk.things.begin(); is_made && one != walk.things.end(); ++one) {
        PyObject *offsets = offsets_of(type, one->offsets);
        PyObject *firsts = offsets == nullptr ? nullptr : offsets_of(type, one->firsts);
        if (firsts == nullptr) Py_XDECREF(offsets);
        is_made = firsts != nullptr && append(things, Py_BuildValue("iNN", one->command, offsets, firsts));
    }
    const auto *numbers = reinterpret_cast<const char *>(walk.numbers.data());
    const auto bytes = static_cast<Py_ssize_t>(walk.numbers.size() * sizeof(std::int32_t));
    PyObject *array = is_made ? PyByteArray_FromStringAndSize(numbers, bytes) : nullptr;
    if (array != nullptr) return Py_BuildValue("NNN", array, slots, things);
    Py_XDECREF(slots);
    Py_XDECREF(things);
    return nullptr;
}

// finish(keep_open): the sendings of the walk.
PyObject *walk_finish(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 1) {
        PyErr_SetString(PyExc_TypeError, "finish takes keep_open");
        return nullptr;
    }
    const int keep_open = PyObject_IsTrue(arguments[0]);
    if (keep_open < 0) return nullptr;
    Walk &made = *reinterpret_cast<WalkObject *>(object)->made;
    if (made.is_finished) {
        PyErr_SetString(PyExc_ValueError, "the walk is finished");
        return nullptr;
    }
    try {
        made.finish(keep_open != 0);
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
    const auto slots = static_cast<Py_ssize_t>(made.slots.size());
    PyObject *type = static_cast<State *>(PyType_GetModuleState(Py_TYPE(object)))->offsets;
    PyObject *arrays = made.is_too_large() ? Py_NewRef(Py_None) : arrays_of(made, type);
    if (arrays == nullptr) return nullptr;
    return Py_BuildValue("LLnN", static_cast<long long>(made.start), static_cast<long long>(made.sendings), slots, arrays);
}

PyObject *walk_stop(PyObject *object, void *) {
    return PyLong_FromLongLong(reinterpret_cast<WalkObject *>(object)->made->stop);
}

PyMethodDef walk_methods[] = {
    {"finish", as_method(walk_finish), METH_FASTCALL, "finish(keep_open): the sendings that were found."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef walk_attributes[] = {
    {"stop", walk_stop, nullptr, "Where the events end.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot offsets_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<OffsetsObject>)},
    {Py_bf_getbuffer, reinterpret_cast<void *>(offsets_buffer)},
    {Py_tp_doc, const_cast<char *>("An array of 64-bit integers, as a buffer.")},
    {0, nullptr},
};

PyType_Slot walk_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(walk_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<WalkObject>)},
    {Py_tp_methods, walk_methods},
    {Py_tp_getset, walk_attributes},
    {Py_tp_doc, const_cast<char *>("Walk(data, start, limit, widths, rules, places, max_counted, max_offsets, "
                                   "players): the events of all frames.")},
    {0, nullptr},
};

}  // namespace

bool read_events(PyObject *widths, PyObject *rules_object, PyObject *places, Events &made) {
    Py_ssize_t number, player, follower;
    if (!PyList_Check(widths) || !PyBytes_Check(rules_object) || !PyTuple_Check(places)) {
        PyErr_SetString(PyExc_TypeError, "events have a list of widths, bytes of rules, and a tuple of places");
        return false;
    }
    if (!PyArg_ParseTuple(places, "nnn", &number, &player, &follower)) return false;
    const auto is_place = [](Py_ssize_t offset) { return offset >= 0 && offset < max_offset; };
    const Bytes rules(rules_object);
    if (PyList_Size(widths) != commands || rules.size != commands || !is_place(number) || !is_place(player) ||
        !is_place(follower)) {
        PyErr_SetString(PyExc_ValueError, "there are 256 widths and rules, and three places");
        return false;
    }
    made.number_offset = static_cast<std::int32_t>(number);
    made.player_offset = static_cast<std::int32_t>(player);
    made.follower_offset = static_cast<std::int32_t>(follower);
    const Py_ssize_t with_number = number + number_bytes;
    const Py_ssize_t with_character = std::max({with_number, player + 1, follower + 1});
    for (int command = 0; command < commands; ++command) {
        const Py_ssize_t width = PyLong_AsSsize_t(PyList_GetItem(widths, command));
        if (width == -1 && PyErr_Occurred()) return false;
        const Rule rule = static_cast<Rule>(rules.begin[command]);
        const Py_ssize_t least = has_character(rule) ? with_character : has_number(rule) ? with_number : 0;
        if (!is_known(rule) || width < 0 || width > max_offset || (width > 0 && width < least)) {
            PyErr_Format(PyExc_ValueError, "no rule or width for the events of command %d", command);
            return false;
        }
        made.rules[static_cast<std::size_t>(command)] = rule;
        made.widths[static_cast<std::size_t>(command)] = static_cast<std::int32_t>(width);
    }
    return true;
}

PyType_Spec offsets_spec = {"slpstream.formats.kernel._kernel.Offsets", sizeof(OffsetsObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, offsets_slots};
PyType_Spec walk_spec = {"slpstream.formats.kernel._kernel.Walk", sizeof(WalkObject), 0, Py_TPFLAGS_DEFAULT, walk_slots};

}  // namespace kernel
