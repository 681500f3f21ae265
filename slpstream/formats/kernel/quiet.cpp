// Quiet frames: those in which nothing begins, ends or hits. Watch recognizes them, and counts what else is in them.
//
// Most frames of a game are quiet, so Python does not have to look at them.

#include "frames.h"

#include <bitset>
#include <cmath>
#include <limits>

namespace kernel {
namespace {

constexpr int input_kinds = 4;  // buttons, first stick, second stick, triggers

using InputCounts = std::array<int, input_kinds>;

struct InputsOfFrame {
    int player;
    std::int32_t number;
    InputCounts counts;
};

// The values to look at, and their bounds.
struct Watched {
    explicit Watched(PyObject *arguments) {
        PyObject *events, *player_indices, *fields[7];
        parse(arguments, "OO(OOOOOOO)(dddIdd)", &events, &player_indices, &fields[0], &fields[1], &fields[2], &fields[3],
              &fields[4], &fields[5], &fields[6], &edge, &below, &margin, &mask, &dead_zone, &threshold);
        layout = Layout(events);
        players = bits_of_players(Bytes(player_indices));
        const std::int32_t inputs = layout.width_of(Rule::before), state = layout.width_of(Rule::after);
        clock = places_in(fields[0], layout.width_of(Rule::first));
        same = places_in(fields[1], state);
        rising = places_in(fields[2], state);
        position = places_in(fields[3], state);
        buttons = places_in(fields[4], inputs);
        sticks = places_in(fields[5], inputs);
        triggers = places_in(fields[6], inputs);
        if (position.size() != 2 || sticks.size() != 4)
            raise(PyExc_ValueError, "a position has two coordinates, and two sticks have four");
    }

    Layout layout;
    std::uint32_t players;
    std::vector<Place> clock, same, rising, position, buttons, sticks, triggers;
    double edge, below, margin, dead_zone, threshold;
    unsigned int mask;
};

double number_at(const unsigned char *event, const Place &place) {
    const unsigned char *at = event + place.offset;
    if (place.kind == Kind::f32) return static_cast<double>(float_at(at));
    return static_cast<double>(integer_at(at, place.kind));
}

// Two frames. Once `follows` is true, both have the same players.
struct Pair {
    const Watched &watched;
    std::uint32_t living;
    const unsigned char *before, *now;
    const Frame &frame_before, &frame;

    const unsigned char *event_before(std::size_t slot) const { return before + frame_before.at[slot]; }
    const unsigned char *event(std::size_t slot) const { return now + frame.at[slot]; }

    bool follows() const {
        if (frame_before.number == std::numeric_limits<std::int32_t>::max() || frame.number != frame_before.number + 1)
            return false;
        if (((frame.parts ^ frame_before.parts) & watched.players) != 0) return false;
        for (const Place &place : watched.clock)
            if (number_at(event(first_slot), place) != number_at(event_before(first_slot), place) + 1) return false;
        return true;
    }

    bool is_outside(const unsigned char *event) const {
        const double x = number_at(event, watched.position[0]), y = number_at(event, watched.position[1]);
        return x > watched.edge || x < -watched.edge || y < watched.below;
    }

    bool is_quiet(int player) const {
        const std::size_t slot = slot_of(player, false, Rule::after);
        const unsigned char *state_before = event_before(slot), *state = event(slot);
        for (const Place &place : watched.same)  // never true of NaN
            if (!(number_at(state, place) - number_at(state_before, place) == 0)) return false;
        for (const Place &place : watched.rising)
            if (number_at(state, place) < number_at(state_before, place)) return false;
        if ((living >> player & 1) != 0 && !std::isfinite(number_at(state, watched.position[0]))) return false;
        return is_outside(state) == is_outside(state_before);
    }

    // One of nine, 0 for the one in the middle.
    int region(const unsigned char *event, const Place *stick) const {
        const auto third = [&](double value) { return value > watched.dead_zone ? 1 : value < -watched.dead_zone ? 2 : 0; };
        return 3 * third(number_at(event, stick[0])) + third(number_at(event, stick[1]));
    }

    InputCounts inputs(int player) const {
        const std::size_t slot = slot_of(player, false, Rule::before);
        const unsigned char *old = event_before(slot), *fresh = event(slot);
        InputCounts counts{};
        for (const Place &place : watched.buttons) {
            const std::int64_t pressed = integer_at(fresh + place.offset, place.kind) & ~integer_at(old + place.offset, place.kind);
            counts[0] += static_cast<int>(std::bitset<32>(static_cast<std::uint32_t>(pressed) & watched.mask).count());
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const int entered = region(fresh, &watched.sticks[2 * i]);
            if (entered != 0 && entered != region(old, &watched.sticks[2 * i])) ++counts[1 + i];
        }
        for (const Place &place : watched.triggers)
            if (number_at(old, place) < watched.threshold && number_at(fresh, place) >= watched.threshold) ++counts[3];
        return counts;
    }

    // The living player who is nearer to x = 0 than all others, by more than the margin; -1 if there is none.
    int nearest() const {
        double least = std::numeric_limits<double>::infinity(), second = least;
        int holder = -1, candidates = 0;
        for (int player = 0; player < max_players; ++player) {
            if ((living & 1U << player) == 0) continue;
            const double x = std::fabs(number_at(event(slot_of(player, false, Rule::after)), watched.position[0]));
            ++candidates;
            if (x < least) {
                second = least;
                least = x;
                holder = player;
            } else if (x < second) {
                second = x;
            }
        }
        return candidates > 1 && second - least > watched.margin ? holder : -1;
    }
};

class Watch {
  public:
    explicit Watch(PyObject *arguments) : watched_(arguments) {}

    Owned begin(Arguments arguments) {
        const auto left = number_of(arguments[1]);
        const auto living = number_of<std::uint32_t>(arguments[2]);
        Frame frame;
        watched_.layout.find_again(arguments[0], frame);
        before_ = shared(arguments[0]);
        frame_before_ = frame;
        living_ = living & watched_.players & frame.parts;
        left_ = left;
        count_ = 0;
        nearest_.fill(0);
        inputs_.clear();
        return shared(Py_None);
    }

    Owned take(Arguments arguments) { return checked(PyBool_FromLong(is_next_quiet(arguments[0]))); }

    Owned end(Arguments) {
        left_ = 0;
        const Owned inputs = checked(PyList_New(0));
        for (const auto &[player, number, counts] : inputs_)
            check(PyList_Append(inputs, checked(Py_BuildValue("iiiiii", player, static_cast<int>(number), counts[0],
                                                              counts[1], counts[2], counts[3]))));
        return checked(Py_BuildValue("OL(iiii)O", before_.get(), count_, nearest_[0], nearest_[1], nearest_[2],
                                     nearest_[3], inputs.get()));
    }

  private:
    bool is_next_quiet(PyObject *data) {
        if (left_ <= 0) return false;
        Frame frame;
        const unsigned char *now = watched_.layout.find_again(data, frame);
        const Pair pair{watched_, living_, Bytes(before_).data(), now, frame_before_, frame};
        const auto is_in = [&](int player) { return (frame.parts & watched_.players & 1U << player) != 0; };
        bool is_quiet = pair.follows();
        for (int player = 0; is_quiet && player < max_players; ++player)
            is_quiet = !is_in(player) || pair.is_quiet(player);
        if (!is_quiet) {
            left_ = 0;
            return false;
        }
        for (int player = 0; player < max_players; ++player) {
            if (!is_in(player)) continue;
            const InputCounts counts = pair.inputs(player);
            if (counts != InputCounts{}) inputs_.push_back({player, frame.number, counts});
        }
        const int nearest = pair.nearest();
        if (nearest >= 0) ++nearest_[static_cast<std::size_t>(nearest)];
        ++count_;
        --left_;
        before_ = shared(data);
        frame_before_ = frame;
        return true;
    }

    Watched watched_;
    Owned before_ = shared(Py_None);  // the bytes of the frame before
    Frame frame_before_{};
    std::uint32_t living_ = 0;
    long long left_ = 0, count_ = 0;
    std::array<int, max_players> nearest_{};
    std::vector<InputsOfFrame> inputs_;
};

PyMethodDef methods[] = {
    method<&Watch::begin, 3>("begin"),
    method<&Watch::take, 1>("take"),
    method<&Watch::end, 0>("end"),
    {},
};

}  // namespace

void add_watch(PyObject *module) { add_type<Watch>(module, "slpstream.formats.kernel._kernel.Watch", methods); }

}  // namespace kernel
