// Walk: the events of all frames of a game, found event by event.
//
// Each event begins where the one before ends. A rule for each command byte defines the effect of its events on
// their sending, which is one transmission of a frame. Python passes the rules, and finds the same events without the
// kernel (`slpstream/formats/slippi/frame_index.py`).
//
// Most sendings have the same events as the one before. This is seen from the first bytes of all events, so their rules
// are not applied again.
//
// In games whose sendings have no last event, a sending is complete when all of its characters are updated and none of
// the sending before is missing (`slpstream/formats/slippi/completion.py`). Later events of it do not count.

#include "kernel.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace kernel {
namespace {

constexpr int keys = 2 * 256;  // player index and follower flag
constexpr int number_bytes = 4;
constexpr std::int64_t absent = -1;
constexpr Py_ssize_t max_offset = 1 << 24;  // in an event

bool is_known(Rule rule) {
    switch (rule) {
        case Rule::ignored: case Rule::plain: case Rule::first: case Rule::last: case Rule::before: case Rule::after:
            return true;
        default: return is_counted(rule);
    }
}

// An event with a number that is neither too late nor one too many.
struct Found {
    std::uint32_t distance;  // from the start of its sending
    unsigned char command;
    bool is_kept;  // not replaced
    std::int16_t key;  // of its character; 0 without
};
static_assert(sizeof(Found) == 8, "compared by bytes");

// Sendings that follow each other and have the same events, up to the next run.
struct Run {
    std::uint32_t sending, found;  // the first of them, and of their events
};

// The first bytes of an event, by which we recognize it in the next sending.
struct Head {
    std::uint32_t distance;
    std::uint64_t bytes, mask;  // the mask selects command, number and character
};
constexpr std::int64_t head_bytes = 8;
constexpr std::size_t max_heads = 256;  // no frame has more events

inline std::uint64_t head_at(const unsigned char *at) {
    std::uint64_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

// The events of one command and character, of which a sending has at most one.
struct Slot {
    int command, key;
    std::vector<std::int64_t> offsets;  // by sending
};

// The events of one command of which a sending can have any number. Those of sending i begin with number firsts[i].
struct Things {
    int command;
    std::vector<std::int64_t> offsets, firsts;
};

using SlotNumbers = std::vector<int>;  // of one command by key; empty before the first event

// The characters of the sending that is being read. They decide when it is complete, as in the class of this name in
// Python. A character is identified by its key.
class Completion {
  public:
    // Begins a sending, which should have the characters of the one before.
    void begin() {
        awaited_ = characters_;
        characters_.reset();
        updated_.reset();
        is_complete_ = false;
    }
    // Takes an event of a character. Before the first sending, it is one to expect in that.
    void add(std::size_t key) { characters_.set(key); }
    // Takes an update of a character, which can make the sending complete.
    void update(std::size_t key) {
        add(key);
        updated_.set(key);
        is_complete_ = is_complete_ || (updated_ == characters_ && (awaited_ & ~characters_).none());
    }
    bool has(std::size_t key) const { return characters_[key]; }
    bool is_updated(std::size_t key) const { return updated_[key]; }
    bool is_complete() const { return is_complete_; }
    // Whether the sending has the characters of the one before, so that the same events would have the same effect again.
    bool is_steady() const { return is_complete_ && characters_ == awaited_; }

  private:
    std::bitset<keys> awaited_, characters_, updated_;
    bool is_complete_ = false;
};

class Walk {
  public:
    Events events;
    std::int64_t max_counted = 0;
    std::int64_t max_offsets = 0;  // slots times sendings
    bool has_completion = false;   // whether sendings have no last event
    Completion completion;

    std::int64_t origin = 0;            // where the walk begins
    std::vector<std::uint32_t> starts;  // of the sendings, from there
    std::vector<std::int32_t> numbers;
    std::vector<Slot> slots;
    std::vector<Things> things;
    std::int64_t stop = 0;
    bool is_finished = false;
    bool is_too_large = false;  // whether there are more than `max_offsets`: slots are then empty

    // Reads `data[at:limit]`, up to the first event that is not declared or not whole.
    void run(const unsigned char *data, std::int64_t at, std::int64_t limit);
    // Keeps or drops the last sending if it has no end and is not complete. Fills slots and things, in the order of
    // their first events.
    void finish(bool keep_open);
    // Frees everything that only `finish` needs, because whatever follows needs memory, too.
    void forget();

  private:
    void begin(std::int64_t at);
    void close(std::int64_t end, bool can_repeat);
    void note_head(const unsigned char *data, std::int64_t at, std::int64_t limit, Rule rule);
    std::int64_t repeat(const unsigned char *data, std::int64_t at, std::int64_t limit);
    Slot &slot_of(const Found &event);
    Things &things_of(int command);
    void reserve_things();

    std::vector<Found> found_;  // of the first sending of each run, and of the one that is being read
    std::vector<Run> runs_;
    std::array<SlotNumbers, commands> slot_numbers_{};
    // Of the sending that is being read:
    std::int64_t open_at_ = -1;          // its first event; -1 before that
    std::size_t open_found_ = 0;         // where its events begin
    bool is_open_ = false;               // whether it has a frame number
    std::int32_t number_ = 0;
    std::vector<Head> open_heads_;
    bool has_heads_ = true;              // whether they are all of its events
    // Of the one before:
    std::vector<Head> heads_;            // empty if it cannot be repeated
    std::int64_t width_ = 0, beyond_ = 0;  // bytes of its events, and those that have to follow for it to be over
};

void Walk::begin(std::int64_t at) {
    if (open_at_ >= 0) return;
    open_at_ = at;
    open_heads_.clear();
    has_heads_ = std::max({events.number_offset + number_bytes, events.player_offset + 1, events.follower_offset + 1}) <=
                 head_bytes;
}

// Ends the sending that is being read. `can_repeat` is whether the same events would have the same effect again.
void Walk::close(std::int64_t end, bool can_repeat) {
    const std::size_t count = found_.size() - open_found_;
    const bool is_same = !runs_.empty() && open_found_ - runs_.back().found == count &&
                         std::memcmp(&found_[runs_.back().found], &found_[open_found_], count * sizeof(Found)) == 0;
    if (is_same) {
        found_.resize(open_found_);
    } else {
        runs_.push_back({static_cast<std::uint32_t>(starts.size()), static_cast<std::uint32_t>(open_found_)});
    }
    starts.push_back(static_cast<std::uint32_t>(open_at_ - origin));
    numbers.push_back(number_);
    heads_.swap(open_heads_);
    if (!can_repeat || !has_heads_) heads_.clear();
    width_ = end - open_at_;
    open_found_ = found_.size();
    open_at_ = -1;
    is_open_ = false;
}

void Walk::note_head(const unsigned char *data, std::int64_t at, std::int64_t limit, Rule rule) {
    has_heads_ = has_heads_ && open_heads_.size() < max_heads && head_bytes <= limit - at;
    if (!has_heads_) return;
    unsigned char mask[head_bytes] = {0xFF};
    if (has_number(rule)) std::memset(mask + events.number_offset, 0xFF, number_bytes);
    if (has_character(rule)) mask[events.player_offset] = mask[events.follower_offset] = 0xFF;
    open_heads_.push_back({static_cast<std::uint32_t>(at - open_at_), head_at(data + at), head_at(mask)});
}

// Adds all sendings from `at` on that have the same events as the one before, and returns where they end.
std::int64_t Walk::repeat(const unsigned char *data, std::int64_t at, std::int64_t limit) {
    if (heads_.empty()) return at;
    const std::int64_t needed = std::max(width_ + beyond_, heads_.back().distance + head_bytes);
    unsigned char number_bits[head_bytes] = {};
    std::memset(number_bits + events.number_offset, 0xFF, number_bytes);
    const std::uint64_t number_mask = head_at(number_bits);
    const auto has_number_in = [=](const Head &head) { return (head.mask & number_mask) == number_mask; };
    const Head numbered = *std::find_if(heads_.begin(), heads_.end(), has_number_in);
    const auto number_at = [&](std::int64_t event) { return u32_at(data + event + events.number_offset); };
    for (; needed <= limit - at; at += width_) {
        const std::uint32_t number = number_at(at + numbered.distance);
        if (beyond_ > 0 && (data[at + width_] != data[at] || number_at(at + width_) == number)) break;
        const std::uint64_t change = (head_at(data + at + numbered.distance) ^ numbered.bytes) & number_mask;
        std::uint64_t differences = 0;
        for (const Head &head : heads_)
            differences |= (head_at(data + at + head.distance) ^ head.bytes ^ change) & head.mask;
        if (differences != 0) break;
        starts.push_back(static_cast<std::uint32_t>(at - origin));
        numbers.push_back(static_cast<std::int32_t>(number));
    }
    return at;
}

void Walk::run(const unsigned char *data, std::int64_t at, std::int64_t limit) {
    origin = at;
    std::vector<std::size_t> updated_by(keys);  // by key, the last update in `found_`
    std::array<std::int64_t, counters> counts{};
    while (at < limit) {
        if (open_at_ < 0) at = repeat(data, at, limit);
        const unsigned char *bytes = data + at;
        const std::int64_t width = at < limit ? events.widths[bytes[0]] : 0;
        if (width == 0 || width > limit - at) break;
        const Rule rule = events.rules[bytes[0]];
        if (!has_number(rule)) {
            if (rule != Rule::ignored) begin(at);
            if (open_at_ >= 0) note_head(data, at, limit, rule);
            at += width;
            continue;
        }
        const auto number = static_cast<std::int32_t>(u32_at(bytes + events.number_offset));
        const auto key = has_character(rule) ? static_cast<std::size_t>(events.key_of(bytes)) : 0;
        if (is_open_ && (number != number_ || rule == Rule::first || (rule == Rule::before && completion.has(key)))) {
            // A repeated sending is over if the first event follows with another number.
            beyond_ = events.widths[data[open_at_]];
            close(at, has_completion && completion.is_steady() && has_number(events.rules[data[open_at_]]));
            continue;
        }
        begin(at);
        if (!is_open_) {
            is_open_ = true;
            number_ = number;
            counts.fill(0);
            completion.begin();
        }
        note_head(data, at, limit, rule);
        bool is_kept = !has_completion || !completion.is_complete();
        if (is_counted(rule)) {
            is_kept = ++counts[static_cast<std::size_t>(counter_of(rule))] <= max_counted && is_kept;
        } else if (rule == Rule::before) {
            completion.add(key);
        } else if (rule == Rule::after) {
            if (is_kept && completion.is_updated(key)) found_[updated_by[key]].is_kept = false;
            if (is_kept) updated_by[key] = found_.size();
            completion.update(key);
        }
        const auto distance = static_cast<std::uint32_t>(at - open_at_);
        if (is_kept) found_.push_back({distance, bytes[0], true, static_cast<std::int16_t>(key)});
        at += width;
        if (rule != Rule::last) continue;
        beyond_ = 0;
        close(at, !has_completion || completion.is_steady());
    }
    stop = at;
}

Slot &Walk::slot_of(const Found &event) {
    SlotNumbers &of_command = slot_numbers_[event.command];
    if (of_command.empty()) of_command.assign(keys, -1);
    int &number = of_command[static_cast<std::size_t>(event.key)];
    if (number < 0) {
        number = static_cast<int>(slots.size());
        slots.push_back({event.command, event.key, {}});
    }
    return slots[static_cast<std::size_t>(number)];
}

Things &Walk::things_of(int command) {
    const auto is_same = [command](const Things &one) { return one.command == command; };
    const auto found = std::find_if(things.begin(), things.end(), is_same);
    return found == things.end() ? *things.insert(found, {command, {}, {}}) : *found;
}

void Walk::finish(bool keep_open) {
    is_finished = true;
    if (is_open_ && (keep_open || (has_completion && completion.is_complete()))) close(stop, false);
    found_.resize(open_found_);
    const auto is_counted_one = [this](const Found &event) { return is_counted(events.rules[event.command]); };
    for (const Found &event : found_)
        if (event.is_kept && !is_counted_one(event)) slot_of(event);
    const auto sendings = static_cast<std::int64_t>(starts.size());
    is_too_large = sendings > 0 && static_cast<std::int64_t>(slots.size()) > max_offsets / sendings;
    if (is_too_large) return;
    for (Slot &slot : slots) slot.offsets.reserve(starts.size());
    runs_.push_back({static_cast<std::uint32_t>(starts.size()), static_cast<std::uint32_t>(found_.size())});
    reserve_things();
    std::vector<Found> counted;
    for (auto run = runs_.begin(); run + 1 != runs_.end(); ++run) {
        const std::uint32_t *const first = starts.data() + run->sending, *const end = starts.data() + run[1].sending;
        counted.clear();
        for (std::size_t i = run->found; i < run[1].found; ++i) {
            const Found &event = found_[i];
            if (!event.is_kept) continue;
            if (is_counted_one(event)) {
                counted.push_back(event);
                continue;
            }
            std::vector<std::int64_t> &offsets = slot_of(event).offsets;
            offsets.resize(run->sending, absent);
            offsets.insert(offsets.end(), first, end);
            const std::int64_t distance = origin + event.distance;
            for (std::size_t row = run->sending; row < offsets.size(); ++row) offsets[row] += distance;
        }
        for (const std::uint32_t *start = first; !counted.empty() && start != end; ++start)
            for (const Found &event : counted) {
                Things &one = things_of(event.command);
                const auto row = static_cast<std::size_t>(start - starts.data());
                one.firsts.resize(row + 1, static_cast<std::int64_t>(one.offsets.size()));
                one.offsets.push_back(origin + *start + event.distance);
            }
    }
    for (Slot &slot : slots) slot.offsets.resize(starts.size(), absent);
    for (Things &one : things) one.firsts.resize(starts.size() + 1, static_cast<std::int64_t>(one.offsets.size()));
}

// Reserves exactly as much memory as all things need, because vectors that grow take up to twice as much.
void Walk::reserve_things() {
    std::array<std::size_t, commands> counts{};
    for (auto run = runs_.begin(); run + 1 != runs_.end(); ++run)
        for (std::size_t i = run->found; i < run[1].found; ++i)
            if (const int command = found_[i].command; is_counted(events.rules[found_[i].command])) {
                things_of(command);
                counts[static_cast<std::size_t>(command)] += run[1].sending - run->sending;
            }
    for (Things &one : things) {
        one.offsets.reserve(counts[static_cast<std::size_t>(one.command)]);
        one.firsts.reserve(starts.size() + 1);
    }
}

void Walk::forget() {
    starts = std::vector<std::uint32_t>();
    found_ = std::vector<Found>();
    runs_ = std::vector<Run>();
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
    const bool is_inside = start >= 0 && limit <= PyBytes_Size(data);
    if (max_counted < 0 || max_offsets < 0 || !is_inside || limit - start > Py_ssize_t{UINT32_MAX}) {
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
                made.completion.add(std::size_t{static_cast<unsigned char>(awaited.begin[i])} << 1);
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
    const auto start = static_cast<long long>(made.starts.empty() ? 0 : made.origin + made.starts.front());
    const auto sendings = static_cast<Py_ssize_t>(made.starts.size()), slots = static_cast<Py_ssize_t>(made.slots.size());
    made.forget();
    PyObject *type = static_cast<State *>(PyType_GetModuleState(Py_TYPE(object)))->offsets;
    PyObject *arrays = made.is_too_large ? Py_NewRef(Py_None) : arrays_of(made, type);
    if (arrays == nullptr) return nullptr;
    return Py_BuildValue("LnnN", start, sendings, slots, arrays);
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
