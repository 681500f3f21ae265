// Quiet frames: those in which nothing begins, ends or hits. Watch recognizes them, and counts what else is in them.
//
// Most frames of a game are quiet, so Python does not have to look at them.

#include "frames.h"

#include <bitset>
#include <cmath>
#include <limits>
#include <new>

namespace kernel {
namespace {

constexpr int input_kinds = 4;  // buttons, first stick, second stick, triggers

struct InputsOfFrame {
    int player;
    std::int32_t number;
    std::array<int, input_kinds> counts;
};

struct WatchMade {
    Layout layout;
    std::uint32_t players = 0;
    std::vector<Place> clock, same, rising, position, buttons, sticks, triggers;
    double edge = 0, below = 0, margin = 0, dead_zone = 0, threshold = 0;
    std::uint32_t mask = 0;

    PyObject *before = nullptr;  // the bytes of the frame before; null while it does not watch
    Frame frame_before;
    std::uint32_t living = 0;
    long left = 0, count = 0;
    std::array<long, max_players> nearest{};
    std::vector<InputsOfFrame> inputs;

    WatchMade() = default;
    WatchMade(const WatchMade &) = delete;
    WatchMade &operator=(const WatchMade &) = delete;
    ~WatchMade() { Py_XDECREF(before); }

    void keep(PyObject *data, const Frame &frame) {
        PyObject *old = before;
        before = Py_NewRef(data);
        frame_before = frame;
        Py_XDECREF(old);
    }
};

struct WatchObject {
    PyObject_HEAD
    WatchMade *made;
};

bool fill_watch(WatchMade &made, PyObject *const *fields) {
    const std::int32_t first = made.layout.width_of(Rule::first);
    const std::int32_t inputs = made.layout.width_of(Rule::before), state = made.layout.width_of(Rule::after);
    if (!read_places(fields[0], first, made.clock) || !read_places(fields[1], state, made.same) ||
        !read_places(fields[2], state, made.rising) || !read_places(fields[3], state, made.position) ||
        !read_places(fields[4], inputs, made.buttons) || !read_places(fields[5], inputs, made.sticks) ||
        !read_places(fields[6], inputs, made.triggers))
        return false;
    if (made.position.size() == 2 && made.sticks.size() == 4) return true;
    PyErr_SetString(PyExc_ValueError, "a position has two coordinates, and two sticks have four");
    return false;
}

// Watch(widths, rules, places, players, fields, numbers)
PyObject *watch_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *widths, *rules, *places, *players_object, *fields[7];
    double edge, below, margin, dead_zone, threshold;
    unsigned int mask;
    if (!PyArg_ParseTuple(arguments, "OOOS(O!O!O!O!O!O!O!)(dddIdd)", &widths, &rules, &places, &players_object,
                          &PyTuple_Type, &fields[0], &PyTuple_Type, &fields[1], &PyTuple_Type, &fields[2],
                          &PyTuple_Type, &fields[3], &PyTuple_Type, &fields[4], &PyTuple_Type, &fields[5],
                          &PyTuple_Type, &fields[6], &edge, &below, &margin, &mask, &dead_zone, &threshold))
        return nullptr;
    auto *self = allocated<WatchObject>(type);
    if (self == nullptr) return nullptr;
    try {
        self->made = new WatchMade;
        WatchMade &made = *self->made;
        made.players = bits_of_players(Bytes(players_object));
        made.edge = edge, made.below = below, made.margin = margin;
        made.mask = mask, made.dead_zone = dead_zone, made.threshold = threshold;
        if (!made.layout.read(widths, rules, places) || !fill_watch(made, fields)) {
            Py_DECREF(self);
            return nullptr;
        }
    } catch (const std::bad_alloc &) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject *>(self);
}

std::uint32_t bits_at(const unsigned char *event, const Place &place) {
    const unsigned char *at = event + place.offset;
    return place.kind == Kind::boolean ? *at : static_cast<std::uint32_t>(integer_at(at, place.kind));
}

double number_at(const unsigned char *event, const Place &place) {
    const unsigned char *at = event + place.offset;
    if (place.kind == Kind::f32) return static_cast<double>(float_at(at));
    if (place.kind == Kind::boolean) return *at != 0 ? 1.0 : 0.0;
    return static_cast<double>(integer_at(at, place.kind));
}

// Two frames. Once `follows` is true, both have the same players.
struct Pair {
    const WatchMade &made;
    const unsigned char *before, *now;
    const Frame &frame_before, &frame;

    const unsigned char *event_before(int slot) const { return before + frame_before.at[static_cast<std::size_t>(slot)]; }
    const unsigned char *event(int slot) const { return now + frame.at[static_cast<std::size_t>(slot)]; }

    bool follows() const {
        if (frame_before.number == std::numeric_limits<std::int32_t>::max() || frame.number != frame_before.number + 1)
            return false;
        if (((frame.parts ^ frame_before.parts) & made.players) != 0) return false;
        for (const Place &place : made.clock)
            if (number_at(event(first_slot), place) != number_at(event_before(first_slot), place) + 1) return false;
        return true;
    }

    bool is_outside(const unsigned char *event) const {
        const double x = number_at(event, made.position[0]), y = number_at(event, made.position[1]);
        return x > made.edge || x < -made.edge || y < made.below;
    }

    bool is_quiet(int player) const {
        const int slot = slot_of(player, false, Rule::after);
        const unsigned char *state_before = event_before(slot), *state = event(slot);
        for (const Place &place : made.same)  // never true of NaN
            if (!(number_at(state, place) - number_at(state_before, place) == 0)) return false;
        for (const Place &place : made.rising)
            if (number_at(state, place) < number_at(state_before, place)) return false;
        if ((made.living >> player & 1) != 0 && !std::isfinite(number_at(state, made.position[0]))) return false;
        return is_outside(state) == is_outside(state_before);
    }

    // One of nine, 0 for the one in the middle.
    int region(const unsigned char *event, const Place *stick) const {
        const auto third = [&](double value) { return value > made.dead_zone ? 1 : value < -made.dead_zone ? 2 : 0; };
        return 3 * third(number_at(event, stick[0])) + third(number_at(event, stick[1]));
    }

    std::array<int, input_kinds> inputs(int player) const {
        const int slot = slot_of(player, false, Rule::before);
        const unsigned char *old = event_before(slot), *fresh = event(slot);
        std::array<int, input_kinds> counts{};
        for (const Place &place : made.buttons) {
            const std::uint32_t pressed = bits_at(fresh, place) & ~bits_at(old, place) & made.mask;
            counts[0] += static_cast<int>(std::bitset<32>(pressed).count());
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const int entered = region(fresh, &made.sticks[2 * i]);
            if (entered != 0 && entered != region(old, &made.sticks[2 * i])) ++counts[1 + i];
        }
        for (const Place &place : made.triggers)
            if (number_at(old, place) < made.threshold && number_at(fresh, place) >= made.threshold) ++counts[3];
        return counts;
    }

    // The living player who is nearer to x = 0 than all others, by more than the margin; -1 if there is none.
    int nearest() const {
        double least = std::numeric_limits<double>::infinity(), second = least;
        int holder = -1, living = 0;
        for (int player = 0; player < max_players; ++player) {
            if ((made.living & 1U << player) == 0) continue;
            const double x = std::fabs(number_at(event(slot_of(player, false, Rule::after)), made.position[0]));
            ++living;
            if (x < least) {
                second = least;
                least = x;
                holder = player;
            } else if (x < second) {
                second = x;
            }
        }
        return living > 1 && second - least > made.margin ? holder : -1;
    }
};

// begin(data, frames, living): watch the frames after this one.
PyObject *watch_begin(PyObject *object, PyObject *const *arguments, Py_ssize_t argument_count) {
    if (argument_count != 3) {
        PyErr_SetString(PyExc_TypeError, "begin takes data, frames and living");
        return nullptr;
    }
    WatchMade &made = *reinterpret_cast<WatchObject *>(object)->made;
    const long left = PyLong_AsLong(arguments[1]), living = PyLong_AsLong(arguments[2]);
    if (PyErr_Occurred()) return nullptr;
    Frame frame;
    if (found_again(made.layout, arguments[0], frame) == nullptr) return nullptr;
    made.keep(arguments[0], frame);
    made.living = static_cast<std::uint32_t>(living) & made.players & frame.parts;
    made.left = left;
    made.count = 0;
    made.nearest.fill(0);
    made.inputs.clear();
    Py_RETURN_NONE;
}

// take(data): whether the next frame is quiet.
PyObject *watch_take(PyObject *object, PyObject *data) {
    WatchMade &made = *reinterpret_cast<WatchObject *>(object)->made;
    if (made.before == nullptr || made.left <= 0) Py_RETURN_FALSE;
    Frame frame;
    const unsigned char *now = found_again(made.layout, data, frame);
    if (now == nullptr) return nullptr;
    const auto *before = reinterpret_cast<const unsigned char *>(PyBytes_AsString(made.before));
    const Pair pair{made, before, now, made.frame_before, frame};
    const auto is_in = [&](int player) { return (frame.parts & made.players & 1U << player) != 0; };
    bool is_quiet = pair.follows();
    for (int player = 0; is_quiet && player < max_players; ++player) is_quiet = !is_in(player) || pair.is_quiet(player);
    if (!is_quiet) {
        made.left = 0;
        Py_RETURN_FALSE;
    }
    try {
        for (int player = 0; player < max_players; ++player) {
            if (!is_in(player)) continue;
            const std::array<int, input_kinds> counts = pair.inputs(player);
            if (counts != std::array<int, input_kinds>{}) made.inputs.push_back({player, frame.number, counts});
        }
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
    const int nearest = pair.nearest();
    if (nearest >= 0) ++made.nearest[static_cast<std::size_t>(nearest)];
    ++made.count;
    --made.left;
    made.keep(data, frame);
    Py_RETURN_TRUE;
}

// end(): the last quiet frame, their number, and what was counted in them.
PyObject *watch_end(PyObject *object, PyObject *) {
    WatchMade &made = *reinterpret_cast<WatchObject *>(object)->made;
    made.left = 0;
    PyObject *inputs = PyList_New(0);
    for (const InputsOfFrame &entry : made.inputs) {
        if (inputs == nullptr) break;
        const auto &counts = entry.counts;
        PyObject *value = Py_BuildValue("iiiiii", entry.player, static_cast<int>(entry.number), counts[0], counts[1],
                                        counts[2], counts[3]);
        if (value == nullptr || PyList_Append(inputs, value) < 0) Py_CLEAR(inputs);
        Py_XDECREF(value);
    }
    if (inputs == nullptr) return nullptr;
    const auto &nearest = made.nearest;
    PyObject *before = made.before == nullptr ? Py_None : made.before;
    return Py_BuildValue("Ol(llll)N", before, made.count, nearest[0], nearest[1], nearest[2], nearest[3], inputs);
}

PyMethodDef watch_methods[] = {
    {"begin", as_method(watch_begin), METH_FASTCALL, "begin(data, frames, living): watch the frames after this one."},
    {"take", as_method(watch_take), METH_O, "take(data): whether the next frame is quiet."},
    {"end", as_method(watch_end), METH_NOARGS, "end(): the last quiet frame, their number, and what was counted."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot watch_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(watch_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<WatchObject>)},
    {Py_tp_methods, watch_methods},
    {Py_tp_doc, const_cast<char *>("Watch(widths, rules, places, players, fields, numbers): finds quiet frames.")},
    {0, nullptr},
};

}  // namespace

PyType_Spec watch_spec = {"slpstream.formats.kernel._kernel.Watch", sizeof(WatchObject), 0, Py_TPFLAGS_DEFAULT,
                          watch_slots};

}  // namespace kernel
