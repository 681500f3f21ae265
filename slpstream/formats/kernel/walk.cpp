// Walk: the events of all frames of a game, found event by event.
//
// Each event begins where the one before ends. Python finds the same events without the kernel
// (`slpstream/formats/slippi/frame_index.py`).
//
// Most sendings have the same events as the one before. This is seen from the first bytes of all events, so their rules
// are not applied again.

#include "kernel.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
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

// Selects those of the first bytes that are from `offset` on.
std::uint64_t mask_of(std::int32_t offset, std::int32_t count) {
    unsigned char mask[head_bytes] = {};
    for (std::int32_t i = offset; i < std::min<std::int32_t>(offset + count, head_bytes); ++i) mask[i] = 0xFF;
    return head_at(mask);
}

// An array of 64-bit integers for Python, with values that are not set yet.
struct Array {
    explicit Array(std::size_t count)
        : object(checked(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count * sizeof *values)))),
          values(reinterpret_cast<std::int64_t *>(PyByteArray_AsString(object))) {}
    Owned object;
    std::int64_t *values;
};

// The characters of the sending that is being read. They decide when it is complete. A character is identified by
// its key.
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
    // Whether the sending has the characters of the one before. The same events would then have the same effect again.
    bool is_steady() const { return is_complete_ && characters_ == awaited_; }

  private:
    std::bitset<keys> awaited_, characters_, updated_;
    bool is_complete_ = false;
};

// The sendings of a game.
class Walk {
  public:
    // The data is read from `start` to `limit`. `players` should be in the first sending; None if sendings have a last
    // event.
    Walk(const Bytes &data, std::int64_t start, std::int64_t limit, const Events &events, std::int64_t max_counted,
         std::int64_t max_offsets, PyObject *players)
        : data_(data.data()), origin_(start), limit_(limit), events_(events), max_counted_(max_counted),
          max_offsets_(max_offsets), has_completion_(players != Py_None), at_(start) {
        const bool is_inside = start >= 0 && limit <= data.size && limit - start <= std::int64_t{UINT32_MAX};
        if (!is_inside || max_counted < 0 || max_offsets < 0) raise(PyExc_ValueError, "invalid walk arguments");
        if (!has_completion_) return;
        const Bytes awaited(players);
        for (Py_ssize_t i = 0; i < awaited.size; ++i) completion_.add(std::size_t{awaited.data()[i]} << 1);
    }

    // Reads up to the first event that is not declared or not whole.
    void run() {
        std::vector<std::size_t> updated_by(keys);  // by key, the last update in `found_`
        std::array<std::int64_t, counters> counts{};
        while (at_ < limit_) {
            if (open_at_ < 0) repeat();
            const unsigned char *bytes = data_ + at_;
            const std::int64_t width = at_ < limit_ ? events_.widths[bytes[0]] : 0;
            if (width == 0 || width > limit_ - at_) break;
            const Rule rule = events_.rules[bytes[0]];
            if (open_at_ < 0 && rule != Rule::ignored) open_at_ = at_;
            if (!has_number(rule)) {
                at_ += width;
                continue;
            }
            const auto number = static_cast<std::int32_t>(u32_at(bytes + events_.number_offset));
            const auto key = has_character(rule) ? static_cast<std::size_t>(events_.key_of(bytes)) : 0;
            const bool is_first = rule == Rule::first || (rule == Rule::before && completion_.has(key));
            if (is_open_ && (is_first || number != number_)) {
                // A repeated sending is over if the first event follows with another number.
                beyond_ = events_.widths[data_[open_at_]];
                close(has_completion_ && completion_.is_steady() && has_number(events_.rules[data_[open_at_]]));
                continue;
            }
            if (!is_open_) {
                is_open_ = true;
                number_ = number;
                counts.fill(0);
                completion_.begin();
            }
            bool is_kept = !has_completion_ || !completion_.is_complete();
            if (is_counted(rule)) {
                is_kept = ++counts[static_cast<std::size_t>(counter_of(rule))] <= max_counted_ && is_kept;
            } else if (rule == Rule::before) {
                completion_.add(key);
            } else if (rule == Rule::after) {
                if (is_kept && completion_.is_updated(key)) found_[updated_by[key]].is_kept = false;
                if (is_kept) updated_by[key] = found_.size();
                completion_.update(key);
            }
            const auto distance = static_cast<std::uint32_t>(at_ - open_at_);
            if (is_kept) found_.push_back({distance, bytes[0], true, static_cast<std::int16_t>(key)});
            at_ += width;
            if (rule != Rule::last) continue;
            beyond_ = 0;
            close(!has_completion_ || completion_.is_steady());
        }
    }

    // Ends the last sending, and returns everything that was found, for Python.
    Owned finish() {
        const bool is_cut = is_open_ && !(has_completion_ && completion_.is_complete());
        if (is_open_) close(false);
        found_.resize(open_found_);
        runs_.push_back({static_cast<std::uint32_t>(starts_.size()), static_cast<std::uint32_t>(found_.size())});
        std::vector<Found> slots;
        std::vector<int> counted;
        for (const Found &event : found_) {
            if (slot_number(event) > 0) continue;
            if (is_counted_event(event)) {
                counted.push_back(event.command);
            } else {
                slots.push_back(event);
            }
            slot_number(event) = is_counted_event(event) ? counted.size() : slots.size();
        }
        const auto sendings = static_cast<std::int64_t>(starts_.size());
        Owned arrays = shared(Py_None);
        if (sendings == 0 || static_cast<std::int64_t>(slots.size()) <= max_offsets_ / sendings) {
            const auto *bytes = reinterpret_cast<const char *>(numbers_.data());
            const Owned of_sendings = checked(PyByteArray_FromStringAndSize(bytes, sendings * number_bytes));
            const Owned by_slot = slot_arrays(slots), by_command = checked(PyList_New(0));
            for (const int command : counted) check(PyList_Append(by_command, counted_arrays(command)));
            arrays = checked(Py_BuildValue("OOO", of_sendings.get(), by_slot.get(), by_command.get()));
        }
        const long long first = sendings == 0 ? 0 : origin_ + starts_.front();
        return checked(Py_BuildValue("LOLLnO", static_cast<long long>(at_), is_cut ? Py_True : Py_False, first,
                                     static_cast<long long>(sendings), static_cast<Py_ssize_t>(slots.size()),
                                     arrays.get()));
    }

  private:
    // Ends the sending that is being read. `can_repeat` is whether the same events would have the same effect again.
    void close(bool can_repeat) {
        const std::size_t count = found_.size() - open_found_;
        const bool is_same = !runs_.empty() && open_found_ - runs_.back().found == count &&
                             std::memcmp(&found_[runs_.back().found], &found_[open_found_], count * sizeof(Found)) == 0;
        if (is_same) {
            found_.resize(open_found_);
        } else {
            runs_.push_back({static_cast<std::uint32_t>(starts_.size()), static_cast<std::uint32_t>(open_found_)});
        }
        starts_.push_back(static_cast<std::uint32_t>(open_at_ - origin_));
        numbers_.push_back(number_);
        heads_.clear();
        if (can_repeat) find_heads();
        width_ = at_ - open_at_;
        open_found_ = found_.size();
        open_at_ = -1;
        is_open_ = false;
    }

    // Finds the heads of all events of the sending that is being read, or none if it cannot be repeated.
    void find_heads() {
        if (std::max({events_.number_offset + number_bytes, events_.player_offset + 1, events_.follower_offset + 1}) >
            head_bytes)
            return;
        for (std::int64_t at = open_at_; at < at_; at += events_.widths[data_[at]]) {
            if (heads_.size() == max_heads || head_bytes > limit_ - at) return heads_.clear();
            const Rule rule = events_.rules[data_[at]];
            const std::uint64_t mask = command_mask_ | (has_number(rule) ? number_mask_ : 0) |
                                       (has_character(rule) ? character_mask_ : 0);
            heads_.push_back({static_cast<std::uint32_t>(at - open_at_), head_at(data_ + at), mask});
        }
    }

    // Takes all sendings from here on that have the same events as the one before.
    void repeat() {
        if (heads_.empty()) return;
        const std::int64_t needed = std::max(width_ + beyond_, heads_.back().distance + head_bytes);
        const std::uint64_t number_mask = number_mask_;
        const auto has_number_in = [=](const Head &head) { return (head.mask & number_mask) == number_mask; };
        const Head numbered = *std::find_if(heads_.begin(), heads_.end(), has_number_in);
        const auto number_at = [this](const unsigned char *event) { return u32_at(event + events_.number_offset); };
        for (; needed <= limit_ - at_; at_ += width_) {
            const unsigned char *const bytes = data_ + at_;
            const std::uint32_t number = number_at(bytes + numbered.distance);
            if (beyond_ > 0 && (bytes[width_] != bytes[0] || number_at(bytes + width_) == number)) return;
            const std::uint64_t change = (head_at(bytes + numbered.distance) ^ numbered.bytes) & number_mask;
            std::uint64_t differences = 0;
            for (const Head &head : heads_)
                differences |= (head_at(bytes + head.distance) ^ head.bytes ^ change) & head.mask;
            if (differences != 0) return;
            starts_.push_back(static_cast<std::uint32_t>(at_ - origin_));
            numbers_.push_back(static_cast<std::int32_t>(number));
        }
    }

    bool is_counted_event(const Found &event) const { return is_counted(events_.rules[event.command]); }

    // The number of an event's slot, counted from 1; 0 if it is not known yet.
    std::size_t &slot_number(const Found &event) {
        std::vector<std::size_t> &of_command = slot_numbers_[event.command];
        if (of_command.empty()) of_command.resize(keys);
        return of_command[static_cast<std::size_t>(event.key)];
    }

    // For each slot: command, player index, follower flag, and the offset of its event in each sending.
    Owned slot_arrays(const std::vector<Found> &slots) {
        std::vector<std::int64_t *> arrays;
        Owned list = checked(PyList_New(0));
        for (const Found &slot : slots) {
            const Array offsets(starts_.size());
            std::fill_n(arrays.emplace_back(offsets.values), starts_.size(), absent);
            const Owned follower = checked(PyBool_FromLong(slot.key & 1));
            check(PyList_Append(list, checked(Py_BuildValue("iiOO", slot.command, slot.key >> 1, follower.get(),
                                                            offsets.object.get()))));
        }
        for (auto run = runs_.begin(); run + 1 != runs_.end(); ++run)
            for (std::size_t i = run->found; i < run[1].found; ++i) {
                if (!found_[i].is_kept || is_counted_event(found_[i])) continue;
                std::int64_t *const offsets = arrays[slot_number(found_[i]) - 1];
                const std::int64_t distance = origin_ + found_[i].distance;
                for (std::size_t row = run->sending; row < run[1].sending; ++row) offsets[row] = distance + starts_[row];
            }
        return list;
    }

    // A command, the offsets of its events, and for each sending the number of its first one.
    Owned counted_arrays(int command) const {
        std::vector<std::int64_t> distances;
        const auto find_distances = [&](const Run *run) {
            distances.clear();
            for (std::size_t i = run->found; i < run[1].found; ++i)
                if (found_[i].command == command) distances.push_back(origin_ + found_[i].distance);
        };
        const Run *const end = &runs_.back();
        std::size_t count = 0;
        for (const Run *run = runs_.data(); run != end; ++run) {
            find_distances(run);
            count += (run[1].sending - run->sending) * distances.size();
        }
        const Array offsets(count), firsts(starts_.size() + 1);
        std::int64_t *next = offsets.values;
        for (const Run *run = runs_.data(); run != end; ++run) {
            find_distances(run);
            for (std::size_t row = run->sending; row < run[1].sending; ++row) {
                firsts.values[row] = next - offsets.values;
                for (const std::int64_t distance : distances) *next++ = distance + starts_[row];
            }
        }
        firsts.values[starts_.size()] = next - offsets.values;
        return checked(Py_BuildValue("iOO", command, offsets.object.get(), firsts.object.get()));
    }

    const unsigned char *const data_;
    const std::int64_t origin_, limit_;  // where the walk begins, and the latest position where it ends
    const Events events_;
    const std::uint64_t command_mask_ = mask_of(0, 1), number_mask_ = mask_of(events_.number_offset, number_bytes);
    const std::uint64_t character_mask_ = mask_of(events_.player_offset, 1) | mask_of(events_.follower_offset, 1);
    const std::int64_t max_counted_, max_offsets_;  // the latter are slots times sendings
    const bool has_completion_;                     // whether sendings have no last event
    Completion completion_;
    std::int64_t at_;
    std::vector<std::uint32_t> starts_;  // of the sendings, from the origin
    std::vector<std::int32_t> numbers_;
    std::vector<Found> found_;  // of the first sending of each run, and of the one that is being read
    std::vector<Run> runs_;
    std::array<std::vector<std::size_t>, commands> slot_numbers_;  // by key; empty before the first event
    // Of the sending that is being read:
    std::int64_t open_at_ = -1;   // its first event; -1 before that
    std::size_t open_found_ = 0;  // where its events begin
    bool is_open_ = false;        // whether it has a frame number
    std::int32_t number_ = 0;
    // Of the one before:
    std::vector<Head> heads_;              // of all events; empty if it cannot be repeated
    std::int64_t width_ = 0, beyond_ = 0;  // bytes of its events, and those that have to follow for it to be over
};

}  // namespace

Events read_events(PyObject *described) {
    PyObject *widths, *rules_object;
    Py_ssize_t number, player, follower;
    parse(described, "O!S(nnn)", &PyList_Type, &widths, &rules_object, &number, &player, &follower);
    const Bytes rules(rules_object);
    const auto is_place = [](Py_ssize_t offset) { return offset >= 0 && offset < max_offset; };
    if (PyList_Size(widths) != commands || rules.size != commands || !is_place(number) || !is_place(player) ||
        !is_place(follower))
        raise(PyExc_ValueError, "there are 256 widths and rules, and three places");
    Events made;
    made.number_offset = static_cast<std::int32_t>(number);
    made.player_offset = static_cast<std::int32_t>(player);
    made.follower_offset = static_cast<std::int32_t>(follower);
    const std::int64_t with_number = number + number_bytes;
    const std::int64_t with_character = std::max<std::int64_t>({with_number, player + 1, follower + 1});
    for (std::size_t command = 0; command < commands; ++command) {
        const std::int64_t width = number_of(PyList_GetItem(widths, static_cast<Py_ssize_t>(command)));
        const Rule rule = static_cast<Rule>(rules.begin[command]);
        const std::int64_t least = has_character(rule) ? with_character : has_number(rule) ? with_number : 0;
        if (!is_known(rule) || width < 0 || width > max_offset || (width > 0 && width < least))
            raise(PyExc_ValueError, "no rule or width for the events of command %zu", command);
        made.rules[command] = rule;
        made.widths[command] = static_cast<std::int32_t>(width);
    }
    return made;
}

Owned walk(PyObject *, Arguments arguments) {
    const Bytes data(arguments[0]);
    const auto start = number_of(arguments[1]), limit = number_of(arguments[2]);
    Walk made(data, start, limit, read_events(arguments[3]), number_of(arguments[4]), number_of(arguments[5]),
              arguments[6]);
    {
        const WithoutGil others_run;
        made.run();
    }
    return made.finish();
}

}  // namespace kernel
