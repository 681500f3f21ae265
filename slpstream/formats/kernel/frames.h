// Declarations shared by the source files that read whole frames.

#ifndef SLPSTREAM_FRAMES_H
#define SLPSTREAM_FRAMES_H

#include "kernel.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kernel {

inline float float_of(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline float float_at(const unsigned char *at) { return float_of(u32_at(at)); }

inline std::int64_t integer_at(const unsigned char *at, Kind kind) {
    switch (kind) {
        case Kind::u8: return *at;
        case Kind::boolean: return *at != 0;
        case Kind::i8: return static_cast<std::int8_t>(*at);
        case Kind::u16: return u16_at(at);
        case Kind::i16: return static_cast<std::int16_t>(u16_at(at));
        case Kind::u32: return u32_at(at);
        default: return static_cast<std::int32_t>(u32_at(at));
    }
}

constexpr int max_players = 4;
constexpr std::size_t max_events = 64;  // of a whole frame; games send at most 15 items
constexpr std::int32_t absent = -1;

// The slots of events that a frame has at most once: the first event, both updates of each character, the last event.
constexpr std::size_t first_slot = 0;
constexpr std::size_t last_slot = 1 + 4 * max_players;
constexpr std::size_t slots = last_slot + 1;

inline std::size_t slot_of(int player, bool is_follower, Rule update) {
    const int character = player + (is_follower ? max_players : 0);
    return static_cast<std::size_t>(1 + 2 * character + (update == Rule::after ? 1 : 0));
}

// The rule of the events in a slot. Without events that begin a sending, the first one is of a character.
inline Rule rule_of(std::size_t slot, bool has_first) {
    if (slot == last_slot) return Rule::last;
    if (slot == first_slot) return has_first ? Rule::first : Rule::before;
    return (slot & 1) != 0 ? Rule::before : Rule::after;
}

// A bit for each of these player indices.
inline std::uint32_t bits_of_players(const Bytes &indices) {
    std::uint32_t bits = 0;
    for (Py_ssize_t i = 0; i < indices.size; ++i)
        if (indices.data()[i] < max_players) bits |= 1U << indices.data()[i];
    return bits;
}

// Bits of what is in a frame: players, followers, and then the kinds of events that it can have any number of.
constexpr int counter_bit = 2 * max_players;
constexpr std::uint32_t all_players = (1U << max_players) - 1;
constexpr std::uint32_t all_characters = (1U << counter_bit) - 1;

struct Frame {
    const unsigned char *begin;
    Py_ssize_t size;
    std::array<std::int32_t, slots> at;  // offset of the event in each slot, or `absent`
    std::array<std::int32_t, max_events> counted;  // offsets of the events without a slot
    std::array<unsigned char, max_events> codes;
    std::size_t counted_size, events;
    std::int32_t number;
    std::uint32_t parts;
    Py_ssize_t needed;  // if it is cut off but usual so far: the position up to which bytes are needed to tell more, or 0

    bool has(std::size_t slot) const { return at[slot] != absent; }
    const unsigned char *event(std::size_t slot) const { return begin + at[slot]; }
};

struct Layout {
    Events events;
    bool has_first = false, has_last = false;

    Layout() = default;
    explicit Layout(PyObject *described) : events(read_events(described)) {
        has_first = width_of(Rule::first) > 0;
        has_last = width_of(Rule::last) > 0;
    }

    // The width of the narrowest events with this rule; 0 if there are none.
    std::int32_t width_of(Rule rule) const {
        std::int32_t least = 0;
        for (std::size_t i = 0; i < commands; ++i)
            if (events.rules[i] == rule && events.widths[i] > 0 && (least == 0 || events.widths[i] < least))
                least = events.widths[i];
        return least;
    }

    // Finds the events of the frame at `start`. Returns false if it is not whole. `players` has a bit for each player
    // that can be in it.
    bool find(const unsigned char *data, Py_ssize_t start, Py_ssize_t limit, std::uint32_t players, Frame &found) const;

    // Finds the events of a frame that was recognized before. Raises ValueError if it is none.
    Frame find_again(PyObject *data) const;
};

// A value in an event.
struct Place {
    Place(char kind, Py_ssize_t offset, std::int32_t width);  // of the event, or more
    Kind kind;
    std::int32_t offset;
};

// Reads a tuple of kinds and offsets, each of a value that has a width.
std::vector<Place> places_in(PyObject *described, std::int32_t width);

}  // namespace kernel

#endif
