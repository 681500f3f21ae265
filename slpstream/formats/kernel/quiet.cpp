// Quiet frames: those in which nothing begins, ends or hits. Watch recognizes them, and counts what else is in them.
//
// Most frames of a game are quiet, so Python does not have to look at them.

#include "frames.h"

#include <bitset>
#include <cmath>
#include <limits>

namespace kernel {
namespace {

double number_at(const unsigned char *event, const Place &place) {
    const unsigned char *at = event + place.offset;
    if (place.kind == Kind::f32) return static_cast<double>(float_at(at));
    return static_cast<double>(integer_at(at, place.kind));
}

class Watch {
  public:
    explicit Watch(PyObject *arguments) {
        PyObject *events, *players, *fields[7];
        parse(arguments, "OO(OOOOOOO)(dddIdd)", &events, &players, &fields[0], &fields[1], &fields[2], &fields[3],
              &fields[4], &fields[5], &fields[6], &edge_, &below_, &margin_, &button_mask_, &dead_zone_, &threshold_);
        layout_ = Layout(events);
        players_ = bits_of_players(Bytes(players));
        const std::int32_t inputs = layout_.width_of(Rule::before), state = layout_.width_of(Rule::after);
        clock_ = places_in(fields[0], layout_.width_of(Rule::first));
        same_ = places_in(fields[1], state);
        rising_ = places_in(fields[2], state);
        position_ = places_in(fields[3], state);
        buttons_ = places_in(fields[4], inputs);
        sticks_ = places_in(fields[5], inputs);
        triggers_ = places_in(fields[6], inputs);
        if (position_.size() != 2 || sticks_.size() != 4)
            raise(PyExc_ValueError, "a position has two coordinates, and two sticks have four");
    }

    Owned begin(Arguments arguments) {
        const auto left = number_of(arguments[1]);
        const auto living = number_of<std::uint32_t>(arguments[2]);
        before_ = layout_.find_again(arguments[0]);
        data_before_ = shared(arguments[0]);
        living_ = living & players_ & before_.parts;
        left_ = left;
        count_ = 0;
        nearest_.fill(0);
        inputs_ = checked(PyList_New(0));
        return shared(Py_None);
    }

    Owned take(Arguments arguments) {
        if (left_ <= 0) return shared(Py_False);
        const Frame frame = layout_.find_again(arguments[0]);
        const auto is_in = [&](int player) { return (frame.parts & players_ & 1U << player) != 0; };
        bool is_quiet = follows(frame);
        for (int player = 0; is_quiet && player < max_players; ++player)
            is_quiet = !is_in(player) || stays(frame, player);
        if (!is_quiet) {
            left_ = 0;
            return shared(Py_False);
        }
        for (int player = 0; player < max_players; ++player)
            if (is_in(player)) add_inputs(frame, player);
        const int nearest = nearest_in(frame);
        if (nearest >= 0) ++nearest_[static_cast<std::size_t>(nearest)];
        ++count_;
        --left_;
        data_before_ = shared(arguments[0]);
        before_ = frame;
        return shared(Py_True);
    }

    Owned end(Arguments) {
        left_ = 0;
        return checked(Py_BuildValue("OL(iiii)O", data_before_.get(), count_, nearest_[0], nearest_[1], nearest_[2],
                                     nearest_[3], inputs_.get()));
    }

  private:
    // Whether a frame follows the one before, with the same players.
    bool follows(const Frame &frame) const {
        if (before_.number == std::numeric_limits<std::int32_t>::max() || frame.number != before_.number + 1)
            return false;
        if (((frame.parts ^ before_.parts) & players_) != 0) return false;
        for (const Place &place : clock_)
            if (number_at(frame.event(first_slot), place) != number_at(before_.event(first_slot), place) + 1) return false;
        return true;
    }

    bool is_outside(const unsigned char *event) const {
        const double x = number_at(event, position_[0]), y = number_at(event, position_[1]);
        return x > edge_ || x < -edge_ || y < below_;
    }

    // Whether nothing begins, ends or hits for a player.
    bool stays(const Frame &frame, int player) const {
        const std::size_t slot = slot_of(player, false, Rule::after);
        const unsigned char *old = before_.event(slot), *fresh = frame.event(slot);
        for (const Place &place : same_)  // never true of NaN
            if (!(number_at(fresh, place) - number_at(old, place) == 0)) return false;
        for (const Place &place : rising_)
            if (number_at(fresh, place) < number_at(old, place)) return false;
        if ((living_ >> player & 1) != 0 && !std::isfinite(number_at(fresh, position_[0]))) return false;
        return is_outside(fresh) == is_outside(old);
    }

    // One of nine, 0 for the one in the middle.
    int region(const unsigned char *event, const Place *stick) const {
        const auto third = [&](double value) { return value > dead_zone_ ? 1 : value < -dead_zone_ ? 2 : 0; };
        return 3 * third(number_at(event, stick[0])) + third(number_at(event, stick[1]));
    }

    void add_inputs(const Frame &frame, int player) {
        const std::size_t slot = slot_of(player, false, Rule::before);
        const unsigned char *old = before_.event(slot), *fresh = frame.event(slot);
        std::array<int, 4> counts{};  // buttons, first stick, second stick, triggers
        for (const Place &place : buttons_) {
            const std::int64_t pressed = integer_at(fresh + place.offset, place.kind) & ~integer_at(old + place.offset, place.kind);
            counts[0] += static_cast<int>(std::bitset<32>(static_cast<std::uint32_t>(pressed) & button_mask_).count());
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const int entered = region(fresh, &sticks_[2 * i]);
            if (entered != 0 && entered != region(old, &sticks_[2 * i])) ++counts[1 + i];
        }
        for (const Place &place : triggers_)
            if (number_at(old, place) < threshold_ && number_at(fresh, place) >= threshold_) ++counts[3];
        if (counts == std::array<int, 4>{}) return;
        check(PyList_Append(inputs_, checked(Py_BuildValue("iiiiii", player, static_cast<int>(frame.number), counts[0],
                                                           counts[1], counts[2], counts[3]))));
    }

    // The living player who is nearer to x = 0 than all others, by more than the margin; -1 if there is none.
    int nearest_in(const Frame &frame) const {
        double least = std::numeric_limits<double>::infinity(), second = least;
        int holder = -1, candidates = 0;
        for (int player = 0; player < max_players; ++player) {
            if ((living_ & 1U << player) == 0) continue;
            const double x = std::fabs(number_at(frame.event(slot_of(player, false, Rule::after)), position_[0]));
            ++candidates;
            if (x < least) {
                second = least;
                least = x;
                holder = player;
            } else if (x < second) {
                second = x;
            }
        }
        return candidates > 1 && second - least > margin_ ? holder : -1;
    }

    Layout layout_;
    std::uint32_t players_;
    std::vector<Place> clock_, same_, rising_, position_, buttons_, sticks_, triggers_;
    double edge_, below_, margin_, dead_zone_, threshold_;
    unsigned int button_mask_;
    Owned data_before_ = shared(Py_None);
    Frame before_{};  // in these bytes
    std::uint32_t living_ = 0;
    long long left_ = 0, count_ = 0;
    std::array<int, max_players> nearest_{};
    Owned inputs_ = checked(PyList_New(0));
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
