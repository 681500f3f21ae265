// Messages of whole frames: Template writes one kind of them, and Encoder all messages for a group of subscribers.

#include "frames.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace kernel {
namespace {

constexpr Py_ssize_t longest_value = 32;  // longer than any number as JSON or MessagePack

char *put(char *out, const char *text, std::size_t length) {
    std::memcpy(out, text, length);
    return out + length;
}

char *put(char *out, const Bytes &bytes) { return put(out, bytes.begin, bytes.length()); }

constexpr std::size_t block_bytes = 32;

// Copies whole blocks, because that is faster. So up to a block behind the text is read and written, too.
char *put_blocks(char *out, const char *text, std::size_t length) {
    std::memcpy(out, text, block_bytes);
    for (std::size_t done = block_bytes; done < length; done += block_bytes)
        std::memcpy(out + done, text + done, block_bytes);
    return out + length;
}

// JSON: numbers as msgspec writes them, which is the shortest text that gives the same double.

char *json_integer(char *out, std::int64_t value) { return std::to_chars(out, out + longest_value, value).ptr; }

char *json_float(char *out, double value) {
    if (!std::isfinite(value)) return put(out, "null", 4);
    if (std::signbit(value)) {
        *out++ = '-';
        value = -value;
    }
    if (value < 1e16) {
        const auto whole = static_cast<std::int64_t>(value);
        if (value == static_cast<double>(whole)) return put(json_integer(out, whole), ".0", 2);
        if (value >= 1e-5) return std::to_chars(out, out + longest_value, value, std::chars_format::fixed).ptr;
    }
    char *end = std::to_chars(out, out + longest_value, value, std::chars_format::scientific).ptr;  // d.ddde-0X
    char *exponent_at = end;
    while (exponent_at[-1] != 'e') --exponent_at;
    int exponent = 0;
    std::from_chars(*exponent_at == '+' ? exponent_at + 1 : exponent_at, end, exponent);
    return json_integer(exponent_at, exponent);  // without plus and zero
}

// The text of a value that was written lately. Most values of a frame are those of the frame before, or one of a few.
struct Text {
    std::uint64_t key_and_length;  // 0 if there is no text yet
    char text[24];                 // long enough for floats
};

constexpr int text_index_bits = 11;
constexpr std::uint64_t integer_key = std::uint64_t{1} << 40, float_key = std::uint64_t{1} << 41;
std::array<Text, std::size_t{1} << text_index_bits> texts{};  // of all games; used only with the GIL

// Writes the float whose bits were added to `float_key`, or the integer that was added to `integer_key`.
char *put_new_text(char *out, std::uint64_t key) {
    if (key < float_key) return json_integer(out, static_cast<std::int64_t>(key - integer_key));
    return json_float(out, static_cast<double>(float_of(static_cast<std::uint32_t>(key))));
}

inline char *put_text(char *out, std::uint64_t key) {
    Text &known = texts[key * 0x9E3779B97F4A7C15U >> (64 - text_index_bits)];  // Fibonacci hashing
    if (known.key_and_length >> 8 == key) {
        std::memcpy(out, known.text, sizeof known.text);
        return out + (known.key_and_length & 0xFF);
    }
    char *end = put_new_text(out, key);
    known.key_and_length = key << 8 | static_cast<std::uint64_t>(end - out);
    std::memcpy(known.text, out, sizeof known.text);
    return end;
}

struct Json {
    static char *integer(char *out, std::int64_t value) {
        const bool is_short = value >> 32 == 0 || value >> 32 == -1;
        return is_short ? put_text(out, integer_key + static_cast<std::uint64_t>(value)) : json_integer(out, value);
    }
    static char *real(char *out, std::uint32_t bits) { return put_text(out, float_key + bits); }
    static char *boolean(char *out, bool value) { return value ? put(out, "true", 4) : put(out, "false", 5); }
    static char *begin_array(char *out, std::size_t) { return put(out, "[", 1); }
    static char *separator(char *out) { return put(out, ",", 1); }
    static char *end_array(char *out) { return put(out, "]", 1); }
};

// MessagePack, as msgspec writes it: integers as short as possible, floats as 64 bits, NaN as nil.

char *big_endian_bytes(char *out, unsigned head, std::uint64_t value, int bytes) {
    *out++ = static_cast<char>(head);
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) *out++ = static_cast<char>(value >> shift);
    return out;
}

// Writes a value in 1, 2, 4 or 8 bytes, as few as `largest` fits into. `head` is the head of a value with one byte, and
// the heads of the longer ones follow it.
char *shortest_bytes(char *out, unsigned head, std::uint64_t value, std::uint64_t largest) {
    if (largest <= 0xFF) return big_endian_bytes(out, head, value, 1);
    if (largest <= 0xFFFF) return big_endian_bytes(out, head + 1, value, 2);
    return largest <= 0xFFFFFFFF ? big_endian_bytes(out, head + 2, value, 4) : big_endian_bytes(out, head + 3, value, 8);
}

struct MessagePack {
    static char *integer(char *out, std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(value);
        if (value >= 0x80) return shortest_bytes(out, 0xCC, bits, bits);
        if (value < -0x20) return shortest_bytes(out, 0xD0, bits, ~bits << 1);
        return big_endian_bytes(out, static_cast<unsigned>(bits), 0, 0);
    }
    static char *real(char *out, std::uint32_t bits) {
        const auto value = static_cast<double>(float_of(bits));
        if (!std::isfinite(value)) return big_endian_bytes(out, 0xC0, 0, 0);
        std::uint64_t wide;
        std::memcpy(&wide, &value, sizeof wide);
        return big_endian_bytes(out, 0xCB, wide, 8);
    }
    static char *boolean(char *out, bool value) { return big_endian_bytes(out, value ? 0xC3 : 0xC2, 0, 0); }
    static char *begin_text(char *out, std::size_t bytes) {
        if (bytes < 0x20) return big_endian_bytes(out, 0xA0 | static_cast<unsigned>(bytes), 0, 0);
        return shortest_bytes(out, 0xD9, bytes, bytes);
    }
    static char *begin_array(char *out, std::size_t size) {
        const auto count = static_cast<unsigned>(size);  // at most `max_events`
        return count < 16 ? big_endian_bytes(out, 0x90 | count, 0, 0) : big_endian_bytes(out, 0xDC, count, 2);
    }
    static char *separator(char *out) { return out; }
    static char *end_array(char *out) { return out; }
};

// Bytes that are being written. It keeps its memory for the next ones.
class Output {
  public:
    // Where the next bytes go, with room for so many.
    char *room(std::size_t bytes) {
        if (memory_.size() < used_ + bytes) memory_.resize(used_ + bytes);
        return memory_.data() + used_;
    }
    void end_at(const char *end) { used_ = static_cast<std::size_t>(end - memory_.data()); }
    // Returns everything that was written as a bytes object, and begins anew.
    Owned take() {
        Owned bytes = checked(PyBytes_FromStringAndSize(memory_.data(), static_cast<Py_ssize_t>(used_)));
        used_ = 0;
        if (memory_.size() > kept_bytes) memory_ = std::vector<char>();
        return bytes;
    }

  private:
    static constexpr std::size_t kept_bytes = 1 << 16;  // usually enough
    std::vector<char> memory_;
    std::size_t used_ = 0;
};

// A literal, and the value after it in the event of a slot. For an array, the slot is its digit in the rules.
struct Piece {
    std::size_t literal_at, literal_bytes;
    Place place;
    std::size_t slot;
};

using Pieces = std::vector<Piece>;

bool is_json_of(PyObject *form) {
    const bool is_json = PyUnicode_CompareWithASCIIString(form, "json") == 0;
    if (!is_json && PyUnicode_CompareWithASCIIString(form, "msgpack") != 0)
        raise(PyExc_ValueError, "unknown form: %U", form);
    return is_json;
}

class Template {
  public:
    explicit Template(PyObject *arguments) {
        PyObject *events, *form, *pieces, *of_counted;
        parse(arguments, "OUO!O!", &events, &form, &PyTuple_Type, &pieces, &PyTuple_Type, &of_counted);
        is_json = is_json_of(form);
        layout = Layout(events);
        pieces_ = read_pieces(pieces, [this](std::size_t slot) {
            if (slot >= slots) raise(PyExc_ValueError, "no slot of a frame");
            return layout.width_of(rule_of(slot, layout.has_first));
        });
        for (Py_ssize_t i = 0; i < PyTuple_Size(of_counted); ++i) {
            PyObject *parts;
            unsigned char code;
            parse(PyTuple_GetItem(of_counted, i), "bO!", &code, &PyTuple_Type, &parts);
            of_counted_[code] = read_pieces(parts, [&](std::size_t) { return layout.events.widths[code]; });
            counted_bytes_[code] = room_for(of_counted_[code]) + 1;
        }
        fixed_bytes_ = room_for(pieces_) + block_bytes;
        literals_.append(block_bytes, '\0');
    }

    bool is_json;
    Layout layout;

    // Enough bytes for the message of a frame.
    std::size_t room(const Frame &frame) const {
        std::size_t bytes = fixed_bytes_;
        for (std::size_t i = 0; i < frame.counted_size; ++i) bytes += counted_bytes_[frame.begin[frame.counted[i]]];
        return bytes;
    }

    // Writes the message without its envelope. Raises ValueError if the frame lacks one of the events.
    char *write(char *out, const Frame &frame, std::int64_t number) const {
        return is_json ? write_as<Json>(out, frame, number) : write_as<MessagePack>(out, frame, number);
    }

    Owned render(Arguments arguments) {
        static Output output;  // used only with the GIL, and not while Python code runs
        const auto number = number_of<std::int64_t>(arguments[1]);
        const Frame frame = layout.find_again(arguments[0]);
        output.end_at(write(output.room(room(frame)), frame, number));
        return output.take();
    }

  private:
    // Reads a tuple of pieces. `width_of` returns the width of the event in a slot.
    template <typename WidthOf>
    Pieces read_pieces(PyObject *described, WidthOf width_of) {
        Pieces pieces;
        for (Py_ssize_t i = 0; i < PyTuple_Size(described); ++i) {
            PyObject *literal_object;
            char kind;
            Py_ssize_t slot, offset;
            parse(PyTuple_GetItem(described, i), "Scnn", &literal_object, &kind, &slot, &offset);
            const Bytes literal(literal_object);
            const auto number = static_cast<std::size_t>(slot);
            pieces.push_back({literals_.size(), literal.length(), Place(kind, offset, width_of(number)), number});
            literals_.append(literal.begin, literal.length());
        }
        return pieces;
    }

    static std::size_t room_for(const Pieces &pieces) {
        std::size_t bytes = 0;
        for (const Piece &piece : pieces) bytes += piece.literal_bytes + longest_value;
        return bytes;
    }

    template <typename Form>
    char *write_as(char *out, const Frame &frame, std::int64_t number) const {
        for (const Piece &piece : pieces_) {
            const bool is_array = piece.place.kind == Kind::array;
            const std::int32_t at = is_array ? 0 : frame.at[piece.slot];
            if (at == absent) raise(PyExc_ValueError, "the frame lacks an event of the template");
            out = write_piece<Form>(out, piece, frame.begin + at, number);
            if (is_array) out = write_array<Form>(out, static_cast<int>(piece.slot), frame);
        }
        return out;
    }

    template <typename Form>
    char *write_piece(char *out, const Piece &piece, const unsigned char *event, std::int64_t number) const {
        out = put_blocks(out, literals_.data() + piece.literal_at, piece.literal_bytes);
        const unsigned char *at = event + piece.place.offset;
        switch (piece.place.kind) {
            case Kind::f32: return Form::real(out, u32_at(at));
            case Kind::boolean: return Form::boolean(out, *at != 0);
            case Kind::number: return Form::integer(out, number);
            case Kind::array: case Kind::nothing: return out;
            default: return Form::integer(out, integer_at(at, piece.place.kind));
        }
    }

    template <typename Form>
    char *write_array(char *out, int counter, const Frame &frame) const {
        const unsigned char *data = frame.begin;
        const auto is_of = [&](std::int32_t at) { return counter_of(layout.events.rules[data[at]]) == counter; };
        const auto *const first = frame.counted.data(), *const end = first + frame.counted_size;
        out = Form::begin_array(out, static_cast<std::size_t>(std::count_if(first, end, is_of)));
        bool is_first = true;
        for (const auto *at = first; at != end; ++at) {
            if (!is_of(*at)) continue;
            if (!is_first) out = Form::separator(out);
            is_first = false;
            for (const Piece &piece : of_counted_[data[*at]]) out = write_piece<Form>(out, piece, data + *at, 0);
        }
        return Form::end_array(out);
    }

    std::string literals_;
    Pieces pieces_;
    std::array<Pieces, commands> of_counted_;  // by command
    std::size_t fixed_bytes_ = 0;              // enough for the pieces without arrays
    std::array<std::size_t, commands> counted_bytes_{};
};

constexpr std::size_t most_head_bytes = 10, usual_head_bytes = 4;

// Writes the head of an unmasked websocket message, whose payload lies `usual_head_bytes` after `out`. Returns where the
// message ends. There has to be room for a longer head.
char *write_websocket_head(char *out, std::size_t size, int opcode) {
    const int length_bytes = size < 126 ? 0 : size < 1 << 16 ? 2 : 8;
    const std::size_t head_bytes = 2 + static_cast<std::size_t>(length_bytes);
    if (head_bytes != usual_head_bytes) std::memmove(out + head_bytes, out + usual_head_bytes, size);
    *out++ = static_cast<char>(0x80 | opcode);  // its first frame is the last one
    const std::size_t length = length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127;
    return big_endian_bytes(out, static_cast<unsigned>(length), size, length_bytes) + size;
}

// Names of the attributes of messages and of the contents of frames.
struct Names {
    Owned type = interned("type"), game_id = interned("game_id"), mode = interned("mode"), offset = interned("offset");
    Owned count = interned("count"), content = interned("content"), frame = interned("frame");
    Owned events = interned("events"), parts = interned("parts"), revision = interned("revision");
    Owned data = interned("data"), templates = interned("templates");
};

// The beginning of messages: everything before their cursor, and the cursor without the position at its end.
struct Envelope {
    std::array<Owned, 4> about;  // type, station, game id and mode of the messages, compared by identity
    Owned head, cursor;
};

constexpr std::size_t known_envelopes = 256;

class Encoder {
  public:
    explicit Encoder(PyObject *arguments) {
        PyObject *form, *envelope, *encode;
        parse(arguments, "UiOO", &form, &opcode_, &envelope, &encode);
        is_json_ = is_json_of(form);
        if (opcode_ < 0 || opcode_ > 0xF) raise(PyExc_ValueError, "no opcode of a websocket message");
        form_ = shared(form);
        make_envelope_ = shared(envelope);
        encode_ = shared(encode);
    }

    Owned write(Arguments arguments) {
        PyObject *messages = arguments[0], *types = arguments[2];
        if (!PyList_Check(messages) || (types != Py_None && !PyAnySet_Check(types)))
            raise(PyExc_TypeError, "write takes a list of messages, a station, a set of types or None, and fields");
        Output output = std::exchange(output_, Output());  // the code in Python could use this encoder, too
        for (Py_ssize_t i = 0; i < PyList_Size(messages); ++i) {
            const Owned message = shared(PyList_GetItem(messages, i)), kind = attribute(message, names_.type);
            const int is_wanted = types == Py_None ? 1 : PySet_Contains(types, kind);
            check(is_wanted);
            if (is_wanted > 0) write_message(output, message, kind, arguments[1], arguments[3]);
        }
        Owned bytes = output.take();
        output_ = std::move(output);
        return bytes;
    }

  private:
    void write_message(Output &output, PyObject *message, PyObject *kind, PyObject *station, PyObject *fields) {
        const Owned content = attribute(message, names_.content), game = attribute(message, names_.game_id);
        const Owned mode = attribute(message, names_.mode);
        const bool is_encoded = PyBytes_CheckExact(content) != 0;
        const bool is_cut = fields != Py_None && PyUnicode_Compare(kind, names_.frame) == 0;
        const Owned found = is_encoded ? Owned() : template_for(content, fields);
        if (is_encoded ? !is_json_ || is_cut || game == Py_None : !found) {  // left to Python
            const Owned encoded = call(encode_, message, station, is_encoded && !is_cut ? Py_None : fields);
            const Bytes bytes(encoded);
            output.end_at(put(output.room(bytes.length()), bytes));
            return;
        }
        const Envelope envelope = envelope_for({kind, station, game, mode});
        if (is_encoded) {
            const Bytes rest(content);
            write_framed(output, message, envelope, rest.length(), [&](char *out) { return put(out, rest); });
        } else {
            const Template &made = made_of<Template>(found);
            const Owned data = attribute(content, names_.data);
            const auto number = number_of(attribute(content, names_.revision));
            const Frame frame = made.layout.find_again(data);
            write_framed(output, message, envelope, made.room(frame),
                         [&](char *out) { return made.write(out, frame, number); });
        }
    }

    // Writes a websocket message, which has at most `rest_bytes` after its cursor.
    template <typename WriteRest>
    void write_framed(Output &output, PyObject *message, const Envelope &envelope, std::size_t rest_bytes,
                      WriteRest write_rest) const {
        const Bytes head(envelope.head), cursor(envelope.cursor);
        const auto offset = number_of(attribute(message, names_.offset));
        const auto count = number_of(attribute(message, names_.count));
        const std::string position = std::to_string(offset) + "." + std::to_string(count);
        const std::size_t cursor_bytes = cursor.length() + position.size();
        char *begin = output.room(most_head_bytes + head.length() + cursor_bytes + longest_value + rest_bytes);
        char *payload = begin + usual_head_bytes, *out = put(payload, head);
        out = is_json_ ? put(out, "\"", 1) : MessagePack::begin_text(out, cursor_bytes);
        out = put(put(out, cursor), position.data(), position.size());
        out = write_rest(is_json_ ? put(out, "\",", 2) : out);
        output.end_at(write_websocket_head(begin, static_cast<std::size_t>(out - payload), opcode_));
    }

    // The template for the content of a frame, or none.
    Owned template_for(PyObject *packed, PyObject *fields) const {
        const Owned events(PyObject_GetAttr(packed, names_.events));
        if (!events) {  // another format
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw Raised();
            PyErr_Clear();
            return Owned();
        }
        const Owned parts = attribute(packed, names_.parts), templates = attribute(events, names_.templates);
        const Owned key = checked(PyTuple_Pack(3, form_.get(), fields, parts.get()));
        if (!PyDict_Check(templates)) raise(PyExc_TypeError, "the templates are a dict");
        PyObject *found = PyDict_GetItemWithError(templates, key);
        if (found == nullptr && PyErr_Occurred()) throw Raised();
        return found != nullptr && is_instance<Template>(found) ? shared(found) : Owned();
    }

    Envelope envelope_for(const std::array<PyObject *, 4> &about) {
        std::uintptr_t sum = 0;
        for (PyObject *object : about) sum = sum * 31 + (reinterpret_cast<std::uintptr_t>(object) >> 4);
        Envelope &known = envelopes_[sum % known_envelopes];
        if (!std::equal(about.begin(), about.end(), known.about.begin())) {
            const Owned parts = call(make_envelope_, form_, about[0], about[1], about[2], about[3]);
            PyObject *head, *cursor;
            parse(parts, "SS", &head, &cursor);
            Envelope made{{}, shared(head), shared(cursor)};
            std::transform(about.begin(), about.end(), made.about.begin(), shared);
            std::swap(known, made);
        }
        return known;
    }

    bool is_json_;
    int opcode_;
    Owned form_, make_envelope_, encode_;
    Names names_;
    std::array<Envelope, known_envelopes> envelopes_;
    Output output_;
};

PyMethodDef template_methods[] = {method<&Template::render, 2>("render"), {}};
PyMethodDef encoder_methods[] = {method<&Encoder::write, 4>("write"), {}};

}  // namespace

void add_messages(PyObject *module) {
    add_type<Template>(module, "slpstream.formats.kernel._kernel.Template", template_methods);
    add_type<Encoder>(module, "slpstream.formats.kernel._kernel.Encoder", encoder_methods);
}

}  // namespace kernel
