// Whole frames: Frames recognizes them, and Fields reads some of their values. Python reads all other frames event by
// event.

#include "frames.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
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
        if (is_first) {
            found.begin = event;
            found.number = number;
            found.at[first_slot] = 0;
        }
        const bool can_begin = rule == rule_of(first_slot, has_first);
        if (number != found.number || (is_first ? !can_begin : has_first && can_begin)) return false;
        const auto offset = static_cast<std::int32_t>(at - start);
        found.codes[found.events++] = *event;
        at += width;
        found.size = at - start;
        if (has_character(rule)) {
            const int player = event[events.player_offset];
            const bool is_follower = event[events.follower_offset] > 0;
            if (player >= max_players || (players >> player & 1) == 0) return false;
            const std::size_t before = slot_of(player, is_follower, Rule::before), after = before + 1;
            if (rule == Rule::before) {
                const int first_bit = is_follower ? max_players : 0, bit = first_bit + player;
                if ((found.parts & all_players << first_bit) >> bit != 0) return false;  // sent before, or out of order
                found.parts |= 1U << bit;
                found.at[before] = offset;
                ++not_updated;
            } else {
                if (!found.has(before) || found.has(after)) return false;
                found.at[after] = offset;
                if (--not_updated == 0 && !has_last) return true;
            }
        } else if (is_counted(rule)) {
            found.parts |= 1U << (counter_bit + counter_of(rule));
            found.counted[found.counted_size++] = offset;
        } else if (rule == Rule::last) {
            found.at[last_slot] = offset;
            return not_updated == 0;
        }
    }
    if (found.events < max_events) found.needed = limit + 1;
    return false;
}

Frame Layout::find_again(PyObject *data) const {
    const Bytes bytes(data);
    Frame found;
    if (!find(bytes.data(), 0, bytes.size, all_players, found))
        raise(PyExc_ValueError, "the data is not a whole frame");
    return found;
}

Place::Place(char letter, Py_ssize_t offset, std::int32_t width)
    : kind(static_cast<Kind>(letter)), offset(static_cast<std::int32_t>(offset)) {
    const int bytes = width_of(kind);
    if (bytes < 0 || offset < 0 || (bytes > 0 && offset > width - bytes))
        raise(PyExc_ValueError, "no value of an event");
}

std::vector<Place> places_in(PyObject *described, std::int32_t width) {
    if (!PyTuple_Check(described)) raise(PyExc_TypeError, "not a tuple: %R", described);
    std::vector<Place> places;
    for (Py_ssize_t i = 0; i < PyTuple_Size(described); ++i) {
        char kind;
        Py_ssize_t offset;
        parse(PyTuple_GetItem(described, i), "cn", &kind, &offset);
        places.emplace_back(kind, offset, width);
        if (width_of(places.back().kind) == 0) raise(PyExc_ValueError, "no value of an event");
    }
    return places;
}

namespace {

// A part of a bytes object: the arguments data, start and limit. It is empty if it does not begin within the data.
struct Span {
    explicit Span(Arguments arguments)
        : bytes(arguments[0]), start(number_of<Py_ssize_t>(arguments[1])),
          limit(start < 0 ? start : std::min(number_of<Py_ssize_t>(arguments[2]), bytes.size)) {}
    Bytes bytes;
    Py_ssize_t start, limit;
};

constexpr Py_ssize_t longest_cut = 1 << 14;  // a frame that is cut off and longer than this is not waited for
constexpr long long none_through = std::numeric_limits<long long>::min();

// What `take` knows of the frames before.
struct Sequence {
    long long next, through;  // the next frame number, and the highest that is final
    PyObject *pending, *out;
    Owned newest = shared(Py_None), noted = newest;  // the last frame, and the number of the last with the noted value
};

class Frames {
  public:
    explicit Frames(PyObject *arguments) {
        PyObject *events, *players, *content, *shared_by_all, *whole, *final, *noted_places = nullptr;
        Py_ssize_t finalized;
        parse(arguments, "OOn(OOnOO)|OL", &events, &players, &finalized, &content, &shared_by_all,
              &message_bytes_per_byte_, &whole, &final, &noted_places, &noted_value_);
        layout_ = Layout(events);
        players_ = bits_of_players(Bytes(players));
        if (finalized >= 0 && finalized + 4 <= layout_.width_of(Rule::last)) finalized_offset_ = finalized;
        content_ = shared(content);
        shared_by_all_ = shared(shared_by_all);
        whole_ = shared(whole);
        final_ = shared(final);
        if (noted_places != nullptr) noted_places_ = places_in(noted_places, layout_.width_of(Rule::after));
        for (const Place &place : noted_places_)
            if (place.kind == Kind::f32 || place.kind == Kind::boolean)
                raise(PyExc_ValueError, "only integers are noted");
    }

    Owned match(Arguments arguments) {
        const Span span(arguments);
        if (!layout_.find(span.bytes.data(), span.start, span.limit, players_, matched_)) {
            matched_.events = 0;
            const bool is_cut = span.start < span.limit && matched_.needed - span.start <= longest_cut;
            return integer(is_cut ? matched_.needed : 0);
        }
        count(matched_, 1);
        const Owned finalized = finalized_offset_ < 0 ? shared(Py_None) : integer(latest_finalized(matched_));
        return checked(Py_BuildValue("niOI", span.start + matched_.size, static_cast<int>(matched_.number),
                                     finalized.get(), matched_.parts));
    }

    Owned take(Arguments arguments) {
        const Span span(arguments);
        Py_ssize_t start = span.start;
        const auto base = number_of(arguments[3]);
        Sequence sequence{number_of(arguments[4]), arguments[5] == Py_None ? none_through : number_of(arguments[5]),
                          arguments[6], arguments[9]};
        const auto max_pending = number_of<Py_ssize_t>(arguments[7]);
        const auto characters = number_of<std::uint32_t>(arguments[8]);
        if (!PyDict_Check(sequence.pending) || !PyList_Check(sequence.out))
            raise(PyExc_TypeError, "take takes bytes, numbers, a dict and a list");
        Frame frame;
        while (start < span.limit && PyDict_Size(sequence.pending) < max_pending &&
               layout_.find(span.bytes.data(), start, span.limit, players_, frame) && frame.number == sequence.next &&
               frame.number > sequence.through && (frame.parts & all_characters) == characters) {
            start += frame.size;
            add(frame, base + start, sequence);
            count(frame, 1);
        }
        const Owned through = sequence.through == none_through ? shared(Py_None) : integer(sequence.through);
        return checked(Py_BuildValue("nLOOO", start, sequence.next, through.get(), sequence.newest.get(),
                                     sequence.noted.get()));
    }

    Owned put_back(Arguments) {
        count(matched_, -1);
        matched_.events = 0;
        return shared(Py_None);
    }

    Owned take_counts(Arguments) {
        Owned counts = checked(PyDict_New());
        for (std::size_t code = 0; code < commands; ++code)
            if (const auto count = std::exchange(counts_[code], 0); count != 0)
                check(PyDict_SetItem(counts, integer(static_cast<long long>(code)), integer(count)));
        return counts;
    }

  private:
    // Adds to the counts of events, or takes away from them.
    void count(const Frame &frame, int change) {
        for (std::size_t i = 0; i < frame.events; ++i) counts_[frame.codes[i]] += change;
    }

    // Whether a player has the noted value.
    bool is_noted(const Frame &frame) const {
        for (const Place &place : noted_places_)
            for (int player = 0; player < max_players; ++player) {
                const std::size_t slot = slot_of(player, false, Rule::after);
                if (!frame.has(slot)) continue;
                if (integer_at(frame.event(slot) + place.offset, place.kind) == noted_value_) return true;
            }
        return false;
    }

    std::int32_t latest_finalized(const Frame &frame) const {
        return static_cast<std::int32_t>(u32_at(frame.event(last_slot) + finalized_offset_));
    }

    // Adds a frame, which ends at the file offset `end`.
    void add(const Frame &frame, long long end, Sequence &sequence) const {
        const Owned data = checked(PyBytes_FromStringAndSize(reinterpret_cast<const char *>(frame.begin), frame.size));
        const Owned number = integer(frame.number), offset = integer(end);
        const Owned content =
            call(content_, integer(message_bytes_per_byte_ * frame.size), data, shared_by_all_, integer(frame.parts));
        const Owned whole = call(whole_, offset, number, integer(0), content);
        check(PyList_Append(sequence.out, whole));
        sequence.newest = whole;
        ++sequence.next;
        if (is_noted(frame)) sequence.noted = number;
        long long through = frame.number;
        if (finalized_offset_ >= 0) through = std::min<long long>(through, latest_finalized(frame));
        const bool is_alone = through == frame.number && PyDict_Size(sequence.pending) == 0;
        if (!is_alone) check(PyDict_SetItem(sequence.pending, number, whole));
        if (through <= sequence.through) return;
        const Owned frames =
            is_alone ? checked(Py_BuildValue("[O]", whole.get())) : taken_through(sequence.pending, through);
        if (PyList_Size(frames) == 0) return;
        sequence.through = through;
        check(PyList_Append(sequence.out, call(final_, offset, integer(through), frames)));
    }

    // Moves the pending frames up to `through` to a new list, in the order of their numbers.
    static Owned taken_through(PyObject *pending, long long through) {
        const Owned numbers = checked(PyDict_Keys(pending));
        Owned frames = checked(PyList_New(0));
        check(PyList_Sort(numbers));
        for (Py_ssize_t i = 0; i < PyList_Size(numbers); ++i) {
            PyObject *number = PyList_GetItem(numbers, i);
            if (number_of(number) > through) break;
            check(PyList_Append(frames, PyDict_GetItemWithError(pending, number)));
            check(PyDict_DelItem(pending, number));
        }
        return frames;
    }

    Layout layout_;
    std::uint32_t players_ = 0;
    Py_ssize_t finalized_offset_ = -1;  // in the last event; -1 if the replay does not have it
    std::array<long long, commands> counts_{};
    Frame matched_{};  // last
    // What `take` makes: the content of a frame, which also refers to `shared_by_all_`, the frame, and the event that
    // frames are final.
    Owned content_, shared_by_all_, whole_, final_;
    Py_ssize_t message_bytes_per_byte_ = 0;
    std::vector<Place> noted_places_;  // in the second update of a player
    long long noted_value_ = 0;
};

Owned object_at(const unsigned char *at, Kind kind) {
    if (kind == Kind::f32) return checked(PyFloat_FromDouble(static_cast<double>(float_at(at))));
    if (kind == Kind::boolean) return checked(PyBool_FromLong(*at != 0));
    return integer(integer_at(at, kind));
}

class Fields {
  public:
    explicit Fields(PyObject *arguments) {
        PyObject *events, *fields, *make;
        char rule;
        parse(arguments, "OcOO", &events, &rule, &fields, &make);
        layout_ = Layout(events);
        make_ = shared(make);
        rule_ = static_cast<Rule>(rule);
        if (rule_ != Rule::first && !has_character(rule_))
            raise(PyExc_ValueError, "fields are those of the first event or of characters");
        places_ = places_in(fields, layout_.width_of(rule_));
        for (const Place &place : places_) {
            begin_ = end_ == 0 ? place.offset : std::min(begin_, place.offset);
            end_ = std::max(end_, place.offset + width_of(place.kind));
        }
    }

    Owned read(Arguments arguments) {
        const Frame frame = layout_.find_again(arguments[0]);
        Frame before;
        before.at.fill(absent);
        if (arguments[1] != Py_None) before = layout_.find_again(arguments[1]);
        Owned found = checked(PyDict_New());
        const auto bytes = static_cast<std::size_t>(end_ - begin_);
        const int count = rule_ == Rule::first ? 1 : max_players;
        for (int player = 0; player < count; ++player) {
            const std::size_t slot = rule_ == Rule::first ? first_slot : slot_of(player, false, rule_);
            if (!frame.has(slot)) continue;
            const unsigned char *event = frame.event(slot);
            if (!before.has(slot) || std::memcmp(event + begin_, before.event(slot) + begin_, bytes) != 0)
                check(PyDict_SetItem(found, integer(player), made_from(event)));
        }
        return found;
    }

  private:
    // What `make` returns for the values of an event.
    Owned made_from(const unsigned char *event) const {
        const Owned values = checked(PyTuple_New(static_cast<Py_ssize_t>(places_.size())));
        for (std::size_t i = 0; i < places_.size(); ++i)
            check(PyTuple_SetItem(values, static_cast<Py_ssize_t>(i),
                                  object_at(event + places_[i].offset, places_[i].kind).release()));
        return checked(PyObject_CallObject(make_, values));
    }

    Layout layout_;
    Rule rule_;
    std::vector<Place> places_;
    std::int32_t begin_ = 0, end_ = 0;  // of the values in an event
    Owned make_;
};

PyMethodDef frames_methods[] = {
    method<&Frames::match, 3>("match"),
    method<&Frames::take, 10>("take"),
    method<&Frames::put_back, 0>("put_back"),
    method<&Frames::take_counts, 0>("take_counts"),
    {},
};

PyMethodDef fields_methods[] = {method<&Fields::read, 1, 2>("read"), {}};

}  // namespace

void add_frames(PyObject *module) {
    add_type<Frames>(module, "slpstream.formats.kernel._kernel.Frames", frames_methods);
    add_type<Fields>(module, "slpstream.formats.kernel._kernel.Fields", fields_methods);
}

}  // namespace kernel
