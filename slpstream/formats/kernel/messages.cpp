// Messages of whole frames: Template writes one kind of them, and Encoder all messages for a group of subscribers.

#include "frames.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
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

// The texts of values that were written lately. Most values of a frame are those of the frame before, or one of a few.
// The values of all games share the texts. They are used only with the GIL.
class Texts {
  public:
    char *put_float(char *out, std::uint32_t bits) { return put_value(out, key_of(real, bits)); }
    char *put_integer(char *out, std::int64_t value) {
        if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::uint32_t>::max())
            return json_integer(out, value);
        return put_value(out, key_of(value < 0 ? negative : positive, static_cast<std::uint32_t>(value)));
    }

  private:
    enum Type : std::uint64_t { none, real, negative, positive };
    static constexpr int longest_text = 24;  // of a float
    static constexpr int index_bits = 11;

    struct Entry {
        std::uint64_t key_and_length;
        char text[longest_text];
    };

    static std::uint64_t key_of(Type type, std::uint32_t bits) { return std::uint64_t{type} << 32 | bits; }

    static char *put_new(char *out, std::uint64_t key) {
        const auto bits = static_cast<std::uint32_t>(key);
        switch (static_cast<Type>(key >> 32)) {
            case real: return json_float(out, static_cast<double>(float_of(bits)));
            case negative: return json_integer(out, static_cast<std::int32_t>(bits));
            default: return json_integer(out, bits);
        }
    }

    char *put_value(char *out, std::uint64_t key) {
        Entry &entry = entries_[key * 0x9E3779B97F4A7C15u >> (64 - index_bits)];  // Fibonacci hashing
        if (entry.key_and_length >> 8 == key) {
            std::memcpy(out, entry.text, longest_text);
            return out + (entry.key_and_length & 0xFF);
        }
        char *end = put_new(out, key);
        entry.key_and_length = key << 8 | static_cast<std::uint64_t>(end - out);
        std::memcpy(entry.text, out, longest_text);
        return end;
    }

    std::array<Entry, std::size_t{1} << index_bits> entries_{};
};

Texts texts;

struct Json {
    static char *integer(char *out, std::int64_t value) { return texts.put_integer(out, value); }
    static char *real(char *out, std::uint32_t bits) { return texts.put_float(out, bits); }
    static char *boolean(char *out, bool value) { return value ? put(out, "true", 4) : put(out, "false", 5); }
    static char *begin_text(char *out, std::size_t) { return put(out, "\"", 1); }
    static char *end_text(char *out) { return put(out, "\"", 1); }
    static char *begin_array(char *out, int) { return put(out, "[", 1); }
    static char *separator(char *out) { return put(out, ",", 1); }
    static char *end_array(char *out) { return put(out, "]", 1); }
};

// MessagePack, as msgspec writes it: integers as short as possible, floats as 64 bits, NaN as nil.

char *big_endian_bytes(char *out, unsigned char head, std::uint64_t value, int bytes) {
    *out++ = static_cast<char>(head);
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) *out++ = static_cast<char>(value >> shift);
    return out;
}

struct MessagePack {
    static char *integer(char *out, std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(value);
        if (value >= 0) {
            if (value < 0x80) return big_endian_bytes(out, static_cast<unsigned char>(value), 0, 0);
            if (value <= 0xFF) return big_endian_bytes(out, 0xCC, bits, 1);
            if (value <= 0xFFFF) return big_endian_bytes(out, 0xCD, bits, 2);
            return value <= 0xFFFFFFFF ? big_endian_bytes(out, 0xCE, bits, 4) : big_endian_bytes(out, 0xCF, bits, 8);
        }
        if (value >= -0x20) return big_endian_bytes(out, static_cast<unsigned char>(value), 0, 0);
        if (value >= -0x80) return big_endian_bytes(out, 0xD0, bits, 1);
        if (value >= -0x8000) return big_endian_bytes(out, 0xD1, bits, 2);
        return value >= -0x80000000LL ? big_endian_bytes(out, 0xD2, bits, 4) : big_endian_bytes(out, 0xD3, bits, 8);
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
        if (bytes < 0x20) return big_endian_bytes(out, static_cast<unsigned char>(0xA0 | bytes), 0, 0);
        if (bytes <= 0xFF) return big_endian_bytes(out, 0xD9, bytes, 1);
        return bytes <= 0xFFFF ? big_endian_bytes(out, 0xDA, bytes, 2) : big_endian_bytes(out, 0xDB, bytes, 4);
    }
    static char *end_text(char *out) { return out; }
    static char *begin_array(char *out, int size) {
        const auto count = static_cast<unsigned char>(size);  // at most `max_events`
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
    void append(const Bytes &bytes) {
        const auto size = static_cast<std::size_t>(bytes.size);
        end_at(put(room(size), bytes.begin, size));
    }
    // A bytes object with everything that was written.
    PyObject *bytes() const { return PyBytes_FromStringAndSize(memory_.data(), static_cast<Py_ssize_t>(used_)); }
    void clear() {
        used_ = 0;
        if (memory_.size() > kept_bytes) memory_ = std::vector<char>();
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
    int slot;
};

using Pieces = std::vector<Piece>;

struct TemplateMade {
    Layout layout;
    bool is_json = true;
    std::string literals;
    Pieces pieces;
    std::array<Pieces, commands> of_counted;  // by command
    std::size_t fixed_bytes = 0;               // enough for the pieces without arrays
    std::array<std::size_t, commands> counted_bytes{};
};

struct TemplateObject {
    PyObject_HEAD
    TemplateMade *made;
};

template <typename Form>
char *write_piece(char *out, const TemplateMade &made, const Piece &piece, const unsigned char *event,
                  std::int64_t number) {
    out = put_blocks(out, made.literals.data() + piece.literal_at, piece.literal_bytes);
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
char *write_array(char *out, const TemplateMade &made, int counter, const unsigned char *data, const Frame &frame) {
    const auto is_of = [&](int i) {
        return counter_of(made.layout.events.rules[data[frame.counted[static_cast<std::size_t>(i)]]]) == counter;
    };
    int size = 0;
    for (int i = 0; i < frame.counted_size; ++i) size += is_of(i);
    out = Form::begin_array(out, size);
    bool is_first = true;
    for (int i = 0; i < frame.counted_size; ++i) {
        if (!is_of(i)) continue;
        if (!is_first) out = Form::separator(out);
        is_first = false;
        const unsigned char *event = data + frame.counted[static_cast<std::size_t>(i)];
        for (const Piece &piece : made.of_counted[*event]) out = write_piece<Form>(out, made, piece, event, 0);
    }
    return Form::end_array(out);
}

// Writes all pieces. Returns null if the frame lacks one of the events.
template <typename Form>
char *write(char *out, const TemplateMade &made, const unsigned char *data, const Frame &frame, std::int64_t number) {
    for (const Piece &piece : made.pieces) {
        const bool is_array = piece.place.kind == Kind::array;
        const std::int32_t at = is_array ? 0 : frame.at[static_cast<std::size_t>(piece.slot)];
        if (at == absent) return nullptr;
        out = write_piece<Form>(out, made, piece, data + at, number);
        if (is_array) out = write_array<Form>(out, made, piece.slot, data, frame);
    }
    return out;
}

bool read_piece(TemplateMade &made, PyObject *literal_object, PyObject *kind, int slot, Py_ssize_t offset,
                std::int32_t width, Pieces &pieces) {
    const Bytes literal(literal_object);
    Piece piece{made.literals.size(), static_cast<std::size_t>(literal.size), {}, slot};
    if (!read_place(kind, offset, width, piece.place)) return false;
    made.literals.append(literal.begin, piece.literal_bytes);
    pieces.push_back(piece);
    return true;
}

std::size_t room_for(const Pieces &pieces) {
    std::size_t bytes = 0;
    for (const Piece &piece : pieces) bytes += piece.literal_bytes + longest_value;
    return bytes;
}

bool fill_template(TemplateMade &made, PyObject *pieces, PyObject *of_counted) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(pieces); ++i) {
        PyObject *literal, *kind;
        int slot;
        Py_ssize_t offset;
        if (!parse_item(pieces, i, "SSin", &literal, &kind, &slot, &offset)) return false;
        if (slot < 0 || slot >= slots) {
            PyErr_SetString(PyExc_ValueError, "no slot of a frame");
            return false;
        }
        const std::int32_t width = made.layout.width_of(rule_of(slot, made.layout.has_first));
        if (!read_piece(made, literal, kind, slot, offset, width, made.pieces)) return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(of_counted); ++i) {
        PyObject *parts;
        unsigned char code;
        if (!parse_item(of_counted, i, "bO!", &code, &PyTuple_Type, &parts)) return false;
        for (Py_ssize_t j = 0; j < PyTuple_Size(parts); ++j) {
            PyObject *literal, *kind;
            Py_ssize_t offset;
            if (!parse_item(parts, j, "SSn", &literal, &kind, &offset)) return false;
            if (!read_piece(made, literal, kind, 0, offset, made.layout.events.widths[code], made.of_counted[code]))
                return false;
        }
        made.counted_bytes[code] = room_for(made.of_counted[code]) + 1;
    }
    made.fixed_bytes = room_for(made.pieces) + block_bytes;
    made.literals.append(block_bytes, '\0');
    return true;
}

// Template(widths, rules, places, form, pieces, of_counted)
PyObject *template_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *widths, *rules, *places, *pieces, *of_counted;
    const char *form;
    if (!PyArg_ParseTuple(arguments, "OOOsO!O!", &widths, &rules, &places, &form, &PyTuple_Type, &pieces,
                          &PyTuple_Type, &of_counted))
        return nullptr;
    const bool is_json = std::strcmp(form, "json") == 0;
    if (!is_json && std::strcmp(form, "msgpack") != 0) {
        PyErr_Format(PyExc_ValueError, "unknown form: %s", form);
        return nullptr;
    }
    auto *self = allocated<TemplateObject>(type);
    if (self == nullptr) return nullptr;
    try {
        self->made = new TemplateMade;
        self->made->is_json = is_json;
        if (!self->made->layout.read(widths, rules, places) || !fill_template(*self->made, pieces, of_counted)) {
            Py_DECREF(self);
            return nullptr;
        }
    } catch (const std::bad_alloc &) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject *>(self);
}

// Reads an integer argument. Sets an exception and returns false if it is none.
template <typename Number>
bool read_number(PyObject *object, Number &made) {
    const long long number = PyLong_AsLongLong(object);
    made = static_cast<Number>(number);
    return number != -1 || PyErr_Occurred() == nullptr;
}

// The beginning of a message: everything before its cursor, and the cursor as text but for the position at its end.
struct Envelope {
    Bytes head, cursor;
    std::int64_t offset = 0, count = 0;

    std::size_t room() const { return static_cast<std::size_t>(head.size + cursor.size) + 3 * longest_value; }
};

template <typename Form>
char *write_envelope(char *out, const Envelope &envelope) {
    char position[2 * longest_value];
    char *end = json_integer(position, envelope.offset);
    *end++ = '.';
    end = json_integer(end, envelope.count);
    const auto position_bytes = static_cast<std::size_t>(end - position);
    const auto cursor_bytes = static_cast<std::size_t>(envelope.cursor.size);
    out = put(out, envelope.head.begin, static_cast<std::size_t>(envelope.head.size));
    out = Form::begin_text(out, cursor_bytes + position_bytes);
    out = put(put(out, envelope.cursor.begin, cursor_bytes), position, position_bytes);
    return Form::separator(Form::end_text(out));
}

constexpr std::size_t most_head_bytes = 10, usual_head_bytes = 4;

// Writes the head of an unmasked websocket message, whose payload lies `usual_head_bytes` after `out`. Returns where the
// message ends. There has to be room for a longer head.
char *write_websocket_head(char *out, std::size_t size, int opcode) {
    const auto first = static_cast<char>(0x80 | opcode);  // its first frame is the last one
    const int length_bytes = size < 126 ? 0 : size < 1 << 16 ? 2 : 8;
    const std::size_t head_bytes = 2 + static_cast<std::size_t>(length_bytes);
    if (head_bytes != usual_head_bytes) std::memmove(out + head_bytes, out + usual_head_bytes, size);
    *out = first;
    if (length_bytes == 0)
        big_endian_bytes(out + 1, static_cast<unsigned char>(size), 0, 0);
    else
        big_endian_bytes(out + 1, length_bytes == 2 ? 126 : 127, size, length_bytes);
    return out + head_bytes + size;
}

// What comes before a payload: an envelope, and the head of a websocket message, if there is an opcode.
struct Before {
    const Envelope *envelope = nullptr;
    int opcode = -1;

    std::size_t room() const { return most_head_bytes + (envelope == nullptr ? 0 : envelope->room()); }
};

// Writes a message with a payload that has at most `room` bytes. `write_payload` returns the end of what it has written,
// or null after an error.
template <typename Form, typename WritePayload>
bool write_message(Output &output, const Before &before, std::size_t room, WritePayload write_payload) {
    char *begin = output.room(before.room() + room);
    char *const payload = before.opcode < 0 ? begin : begin + usual_head_bytes;
    char *end = write_payload(before.envelope == nullptr ? payload : write_envelope<Form>(payload, *before.envelope));
    if (end == nullptr) return false;
    if (before.opcode >= 0) end = write_websocket_head(begin, static_cast<std::size_t>(end - payload), before.opcode);
    output.end_at(end);
    return true;
}

template <typename Form>
bool write_frame(Output &output, const TemplateMade &made, PyObject *data_object, std::int64_t number,
                 const Before &before) {
    Frame frame;
    const unsigned char *data = found_again(made.layout, data_object, frame);
    if (data == nullptr) return false;
    std::size_t room = made.fixed_bytes;
    for (int i = 0; i < frame.counted_size; ++i)
        room += made.counted_bytes[data[frame.counted[static_cast<std::size_t>(i)]]];
    if (write_message<Form>(output, before, room, [&](char *out) { return write<Form>(out, made, data, frame, number); }))
        return true;
    PyErr_SetString(PyExc_ValueError, "the frame lacks an event of the template");
    return false;
}

bool write_frame(Output &output, const TemplateMade &made, PyObject *data, std::int64_t number, const Before &before) {
    return made.is_json ? write_frame<Json>(output, made, data, number, before)
                        : write_frame<MessagePack>(output, made, data, number, before);
}

// The two parts of an envelope. Sets an exception and returns false if they are none.
bool read_envelope(PyObject *parts, PyObject *&head, PyObject *&cursor) {
    if (PyTuple_Check(parts) && PyTuple_Size(parts) == 2) {
        head = PyTuple_GetItem(parts, 0);
        cursor = PyTuple_GetItem(parts, 1);
        if (PyBytes_Check(head) && PyBytes_Check(cursor)) return true;
    }
    PyErr_SetString(PyExc_TypeError, "an envelope has two parts, which are bytes");
    return false;
}

Output output_of_templates;  // used only with the GIL, and not while Python code runs

TemplateMade &template_of(PyObject *object) { return *reinterpret_cast<TemplateObject *>(object)->made; }

// Runs what writes some output, and returns it as a bytes object, or null after an error.
template <typename Write>
PyObject *written(Output &output, Write write) {
    PyObject *bytes = nullptr;
    try {
        if (write(output)) bytes = output.bytes();
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
    }
    output.clear();
    return bytes;
}

// render(data, number): the message of a whole frame without its envelope.
PyObject *template_render(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "render takes data and number");
        return nullptr;
    }
    std::int64_t number;
    if (!read_number(arguments[1], number)) return nullptr;
    return written(output_of_templates, [&](Output &output) {
        return write_frame(output, template_of(object), arguments[0], number, {});
    });
}

// Names of the attributes of messages and of the contents of frames.
enum Name { type, game_id, mode, offset, count, content, frame, data, events, parts, revision, templates, name_count };

constexpr std::array<const char *, name_count> names_of{"type",    "game_id", "mode",   "offset", "count",    "content",
                                                        "frame",   "data",    "events", "parts",  "revision", "templates"};

// An envelope, and what it was made for: type, station, game id and mode of its messages, compared by identity.
struct KnownEnvelope {
    std::array<PyObject *, 4> about{};
    PyObject *parts = nullptr;

    KnownEnvelope() = default;
    KnownEnvelope(const KnownEnvelope &) = delete;
    KnownEnvelope &operator=(const KnownEnvelope &) = delete;
    ~KnownEnvelope() {
        for (PyObject *object : about) Py_XDECREF(object);
        Py_XDECREF(parts);
    }
    void swap(KnownEnvelope &other) {
        std::swap(about, other.about);
        std::swap(parts, other.parts);
    }
};

constexpr std::size_t known_envelopes = 256;

struct EncoderMade {
    bool is_json = true;
    int opcode = 0;
    PyObject *form = nullptr, *envelope = nullptr, *encode = nullptr;
    std::array<PyObject *, name_count> names{};
    std::array<KnownEnvelope, known_envelopes> envelopes;
    Output output;

    EncoderMade() = default;
    EncoderMade(const EncoderMade &) = delete;
    EncoderMade &operator=(const EncoderMade &) = delete;
    ~EncoderMade() {
        for (PyObject *object : {form, envelope, encode}) Py_XDECREF(object);
        for (PyObject *name : names) Py_XDECREF(name);
    }

    PyObject *get(PyObject *object, Name name) const { return PyObject_GetAttr(object, names[name]); }
    bool get(PyObject *object, Name name, std::int64_t &value) const {
        const Owned found(get(object, name));
        return found && read_number(found.get(), value);
    }
};

struct EncoderObject {
    PyObject_HEAD
    EncoderMade *made;
};

// A call of `write`.
struct Encoding {
    EncoderMade &made;
    PyTypeObject *template_type;
    PyObject *station, *fields;
    Output &output;

    // Lets Python encode what is unusual.
    bool write_by_python(PyObject *message, bool is_cut) const {
        PyObject *kept = is_cut ? fields : Py_None;
        const Owned bytes(PyObject_CallFunctionObjArgs(made.encode, message, station, kept, nullptr));
        if (!bytes) return false;
        if (!PyBytes_Check(bytes.get())) {
            PyErr_SetString(PyExc_TypeError, "an encoded message is bytes");
            return false;
        }
        output.append(Bytes(bytes.get()));
        return true;
    }

    // A new reference to the envelope of messages about this, or null after an error.
    PyObject *envelope_for(const std::array<PyObject *, 4> &about) const {
        std::uintptr_t sum = 0;
        for (PyObject *object : about) sum = sum * 31 + (reinterpret_cast<std::uintptr_t>(object) >> 4);
        KnownEnvelope &known = made.envelopes[sum % known_envelopes];
        if (known.about != about) {
            PyObject *parts =
                PyObject_CallFunctionObjArgs(made.envelope, made.form, about[0], about[1], about[2], about[3], nullptr);
            if (parts == nullptr) return nullptr;
            KnownEnvelope fresh;
            for (std::size_t i = 0; i < about.size(); ++i) fresh.about[i] = Py_NewRef(about[i]);
            fresh.parts = parts;
            known.swap(fresh);
        }
        return Py_NewRef(known.parts);
    }

    // The template for the content of a frame, or null, also after an error.
    PyObject *template_for(PyObject *packed) const {
        const Owned events_of(made.get(packed, events));
        if (!events_of) {
            if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();  // another format
            return nullptr;
        }
        const Owned parts_of(made.get(packed, parts));
        if (!parts_of) return nullptr;
        const Owned all(made.get(events_of.get(), templates));
        if (!all) return nullptr;
        const Owned key(PyTuple_Pack(3, made.form, fields, parts_of.get()));
        if (!key) return nullptr;
        if (!PyDict_Check(all.get())) {
            PyErr_SetString(PyExc_TypeError, "the templates are a dict");
            return nullptr;
        }
        PyObject *found = PyDict_GetItemWithError(all.get(), key.get());
        return found != nullptr && PyObject_TypeCheck(found, template_type) ? Py_NewRef(found) : nullptr;
    }

    bool write_packed(PyObject *packed, PyObject *message, const Before &before) const {
        const Owned made_before(template_for(packed));
        if (!made_before) return PyErr_Occurred() == nullptr && write_by_python(message, true);
        const Owned bytes(made.get(packed, data));
        std::int64_t number;
        return bytes && made.get(packed, revision, number) &&
               write_frame(output, template_of(made_before.get()), bytes.get(), number, before);
    }

    bool write(PyObject *message, PyObject *kind) const {
        const Owned body(made.get(message, content));
        if (!body) return false;
        const Owned game(made.get(message, game_id));
        if (!game) return false;
        const Owned of_mode(made.get(message, mode));
        if (!of_mode) return false;
        const bool is_encoded = PyBytes_CheckExact(body.get()) != 0;
        const bool is_cut = fields != Py_None && PyUnicode_Compare(kind, made.names[frame]) == 0;
        if (is_encoded && (!made.is_json || is_cut || game.get() == Py_None))
            return write_by_python(message, is_cut);
        const Owned both(envelope_for({kind, station, game.get(), of_mode.get()}));
        PyObject *head, *cursor;
        if (!both || !read_envelope(both.get(), head, cursor)) return false;
        Envelope envelope{Bytes(head), Bytes(cursor)};
        if (!made.get(message, offset, envelope.offset) || !made.get(message, count, envelope.count)) return false;
        const Before before{&envelope, made.opcode};
        if (!is_encoded) return write_packed(body.get(), message, before);
        const Bytes payload(body.get());
        const auto size = static_cast<std::size_t>(payload.size);
        return write_message<Json>(output, before, size, [&](char *out) { return put(out, payload.begin, size); });
    }
};

// Encoder(form, opcode, envelope, encode)
PyObject *encoder_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    PyObject *form, *envelope, *encode;
    int opcode;
    if (!PyArg_ParseTuple(arguments, "UiOO", &form, &opcode, &envelope, &encode)) return nullptr;
    const bool is_json = PyUnicode_CompareWithASCIIString(form, "json") == 0;
    if (!is_json && PyUnicode_CompareWithASCIIString(form, "msgpack") != 0) {
        PyErr_Format(PyExc_ValueError, "unknown form: %U", form);
        return nullptr;
    }
    if (opcode < 0 || opcode > 0xF) {
        PyErr_SetString(PyExc_ValueError, "no opcode of a websocket message");
        return nullptr;
    }
    auto *self = allocated<EncoderObject>(type);
    if (self == nullptr) return nullptr;
    self->made = new (std::nothrow) EncoderMade;
    if (self->made == nullptr) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    EncoderMade &made = *self->made;
    made.is_json = is_json;
    made.opcode = opcode;
    made.form = Py_NewRef(form);
    made.envelope = Py_NewRef(envelope);
    made.encode = Py_NewRef(encode);
    for (std::size_t i = 0; i < name_count; ++i) {
        made.names[i] = PyUnicode_InternFromString(names_of[i]);
        if (made.names[i] == nullptr) {
            Py_DECREF(self);
            return nullptr;
        }
    }
    return reinterpret_cast<PyObject *>(self);
}

// write(messages, station, types, fields): those messages that have one of the types, or all, one after another.
PyObject *encoder_write(PyObject *object, PyObject *const *arguments, Py_ssize_t argument_count) {
    if (argument_count != 4 || !PyList_Check(arguments[0]) ||
        (arguments[2] != Py_None && !PyAnySet_Check(arguments[2]))) {
        PyErr_SetString(PyExc_TypeError, "write takes a list of messages, a station, a set of types or None, and fields");
        return nullptr;
    }
    const auto *state = static_cast<State *>(PyType_GetModuleState(Py_TYPE(object)));
    if (state == nullptr) return nullptr;
    EncoderMade &made = *reinterpret_cast<EncoderObject *>(object)->made;
    Output output;
    std::swap(output, made.output);  // the code in Python could use this encoder, too
    PyObject *bytes = written(output, [&](Output &) {
        const Encoding encoding{made, reinterpret_cast<PyTypeObject *>(state->template_type), arguments[1], arguments[3],
                                output};
        for (Py_ssize_t i = 0; i < PyList_Size(arguments[0]); ++i) {
            const Owned message(Py_NewRef(PyList_GetItem(arguments[0], i)));
            const Owned kind(made.get(message.get(), type));
            if (!kind) return false;
            const int is_wanted = arguments[2] == Py_None ? 1 : PySet_Contains(arguments[2], kind.get());
            if (is_wanted < 0 || (is_wanted > 0 && !encoding.write(message.get(), kind.get()))) return false;
        }
        return true;
    });
    std::swap(output, made.output);
    return bytes;
}

PyMethodDef encoder_methods[] = {
    {"write", as_method(encoder_write), METH_FASTCALL,
     "write(messages, station, types, fields): those messages that have one of the types, as bytes."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot encoder_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(encoder_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<EncoderObject>)},
    {Py_tp_methods, encoder_methods},
    {Py_tp_doc, const_cast<char *>("Encoder(form, opcode, envelope, encode): writes websocket messages.")},
    {0, nullptr},
};

PyMethodDef template_methods[] = {
    {"render", as_method(template_render), METH_FASTCALL,
     "render(data, number): the message of a frame without its envelope, as bytes."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot template_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(template_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<TemplateObject>)},
    {Py_tp_methods, template_methods},
    {Py_tp_doc, const_cast<char *>("Template(widths, rules, places, form, pieces, of_counted): writes messages.")},
    {0, nullptr},
};

}  // namespace

PyType_Spec template_spec = {"slpstream.formats.kernel._kernel.Template", sizeof(TemplateObject), 0, Py_TPFLAGS_DEFAULT,
                             template_slots};
PyType_Spec encoder_spec = {"slpstream.formats.kernel._kernel.Encoder", sizeof(EncoderObject), 0, Py_TPFLAGS_DEFAULT,
                            encoder_slots};

}  // namespace kernel
