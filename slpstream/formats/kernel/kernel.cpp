// The optional compiled kernel: the work for every frame, without Python objects for its fields.
//
// The kernel knows no format. Python makes its templates and matchers from the field tables
// (`slpstream/formats/slippi/frame_forms.py`), so there is one list of offsets. Without a compiler, this module is not
// built, and Python does the same work more slowly, with the same bytes as a result.
//
// All positions from Python are checked when a template is made or applied, because hostile bytes reach this code.

#include "kernel.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace kernel {
namespace {

constexpr Py_ssize_t longest_value = 32;  // longer than any number as JSON or MessagePack

float float_at(const unsigned char *at) {
    const std::uint32_t bits = u32_at(at);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

std::int64_t integer_at(const unsigned char *at, Kind kind) {
    switch (kind) {
        case Kind::u8: return *at;
        case Kind::i8: return static_cast<std::int8_t>(*at);
        case Kind::u16: return u16_at(at);
        case Kind::i16: return static_cast<std::int16_t>(u16_at(at));
        case Kind::u32: return u32_at(at);
        default: return static_cast<std::int32_t>(u32_at(at));
    }
}

char *put(char *out, const char *text, std::size_t length) {
    std::memcpy(out, text, length);
    return out + length;
}

char *put_zeros(char *out, int count) {
    std::memset(out, '0', static_cast<std::size_t>(count));
    return out + count;
}

// JSON: numbers as msgspec writes them, which is the shortest text that gives the same double.

char *json_integer(char *out, std::int64_t value) { return std::to_chars(out, out + longest_value, value).ptr; }

char *json_float(char *out, double value) {
    if (!std::isfinite(value)) return put(out, "null", 4);
    if (std::signbit(value)) {
        *out++ = '-';
        value = -value;
    }
    if (value < 1e6 && value == static_cast<double>(static_cast<std::int32_t>(value))) {  // common, and fast
        out = json_integer(out, static_cast<std::int32_t>(value));
        return put(out, ".0", 2);
    }
    char scientific[longest_value];  // d.ddde-XX
    const char *end = std::to_chars(scientific, scientific + longest_value, value, std::chars_format::scientific).ptr;
    const char *e = end;
    while (*--e != 'e') {}
    int exponent = 0;
    std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
    char digits[longest_value];
    int count = 0;
    for (const char *at = scientific; at < e; ++at)
        if (*at != '.') digits[count++] = *at;
    const int point = exponent + 1;  // the digits before the decimal point
    if (count <= point && point <= 16) {  // 1234e7 becomes 12340000000.0
        out = put_zeros(put(out, digits, count), point - count);
        return put(out, ".0", 2);
    }
    if (0 < point && point <= 16) {  // 1234e-2 becomes 12.34
        out = put(out, digits, point);
        *out++ = '.';
        return put(out, digits + point, count - point);
    }
    if (-5 < point && point <= 0) {  // 1234e-6 becomes 0.001234
        out = put_zeros(put(out, "0.", 2), -point);
        return put(out, digits, count);
    }
    *out++ = digits[0];
    if (count > 1) {
        *out++ = '.';
        out = put(out, digits + 1, count - 1);
    }
    *out++ = 'e';
    return json_integer(out, exponent);
}

struct Json {
    static char *integer(char *out, std::int64_t value) { return json_integer(out, value); }
    static char *real(char *out, double value) { return json_float(out, value); }
    static char *boolean(char *out, bool value) { return value ? put(out, "true", 4) : put(out, "false", 5); }
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
    static char *real(char *out, double value) {
        if (!std::isfinite(value)) return big_endian_bytes(out, 0xC0, 0, 0);
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return big_endian_bytes(out, 0xCB, bits, 8);
    }
    static char *boolean(char *out, bool value) { return big_endian_bytes(out, value ? 0xC3 : 0xC2, 0, 0); }
};

struct Part {
    std::size_t literal_at, literal_bytes, offset;
    Kind kind;
};

template <typename Form>
char *render(char *out, const std::vector<Part> &parts, const char *literals, const unsigned char *data,
             std::int64_t number) {
    for (const Part &part : parts) {
        out = put(out, literals + part.literal_at, part.literal_bytes);
        const unsigned char *at = data + part.offset;
        switch (part.kind) {
            case Kind::f32: out = Form::real(out, float_at(at)); break;
            case Kind::boolean: out = Form::boolean(out, *at != 0); break;
            case Kind::number: out = Form::integer(out, number); break;
            case Kind::nothing: break;
            default: out = Form::integer(out, integer_at(at, part.kind));
        }
    }
    return out;
}

// Template(form, parts): literals with values between them. `form` is "json" or "msgpack"; a part is (literal, kind,
// offset): the literal, then the value of that kind at that offset from the start of the frame.
struct Template {
    std::string literals;
    std::vector<Part> parts;
    std::vector<char> out;
    std::size_t width_bytes = 0;  // of the data that contains the values
    bool is_json = true;
};

struct TemplateObject {
    PyObject_HEAD
    Template *made;
};

bool add_part(Template &made, PyObject *part) {
    PyObject *literal_object, *kind_object;
    Py_ssize_t offset;
    if (!PyArg_ParseTuple(part, "SSn", &literal_object, &kind_object, &offset)) return false;
    const Bytes literal(literal_object), kind_text(kind_object);
    const Kind kind = kind_text.size == 1 ? static_cast<Kind>(kind_text.begin[0]) : Kind(0);
    const int width = width_of(kind);
    if (width < 0 || offset < 0 || offset > 1 << 24) {
        PyErr_Format(PyExc_ValueError, "no part of a template: %R", part);
        return false;
    }
    made.parts.push_back({made.literals.size(), static_cast<std::size_t>(literal.size),
                          static_cast<std::size_t>(offset), kind});
    made.literals.append(literal.begin, static_cast<std::size_t>(literal.size));
    const auto end = static_cast<std::size_t>(offset + width);
    if (width > 0 && end > made.width_bytes) made.width_bytes = end;
    return true;
}

PyObject *template_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    const char *form;
    PyObject *parts;
    if (!PyArg_ParseTuple(arguments, "sO!", &form, &PyTuple_Type, &parts)) return nullptr;
    const bool is_json = std::strcmp(form, "json") == 0;
    if (!is_json && std::strcmp(form, "msgpack") != 0) {
        PyErr_Format(PyExc_ValueError, "unknown form: %s", form);
        return nullptr;
    }
    auto *self = allocated<TemplateObject>(type);
    if (self == nullptr) return nullptr;
    try {
        self->made = new Template;
        self->made->is_json = is_json;
        for (Py_ssize_t i = 0; i < PyTuple_Size(parts); ++i) {
            PyObject *part = PyTuple_GetItem(parts, i);
            if (!PyTuple_Check(part)) {
                PyErr_SetString(PyExc_TypeError, "the parts of a template are tuples");
            } else if (add_part(*self->made, part)) {
                continue;
            }
            Py_DECREF(self);
            return nullptr;
        }
        self->made->out.resize(self->made->literals.size() + self->made->parts.size() * longest_value);
    } catch (const std::bad_alloc &) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject *>(self);
}

PyObject *template_render(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "render takes data, start and number");
        return nullptr;
    }
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(arguments[0], &data, &size) < 0) return nullptr;
    const Py_ssize_t start = PyLong_AsSsize_t(arguments[1]);
    const long long number = PyLong_AsLongLong(arguments[2]);
    if (PyErr_Occurred()) return nullptr;
    Template &made = *reinterpret_cast<TemplateObject *>(object)->made;
    if (start < 0 || start > size || static_cast<std::size_t>(size - start) < made.width_bytes) {
        PyErr_SetString(PyExc_ValueError, "the data ends inside of the template");
        return nullptr;
    }
    const auto *frame = reinterpret_cast<const unsigned char *>(data) + start;
    char *out = made.out.data();
    char *end = made.is_json ? render<Json>(out, made.parts, made.literals.data(), frame, number)
                             : render<MessagePack>(out, made.parts, made.literals.data(), frame, number);
    return PyBytes_FromStringAndSize(out, end - out);
}

// Matcher(width, checked, expected, numbers): whether a frame has a layout.
struct Matcher {
    std::vector<std::uint32_t> checked;   // offsets of the bytes that are compared
    std::vector<unsigned char> expected;
    std::vector<std::uint32_t> numbers;   // offsets of 4 bytes that must all be equal
    std::size_t width_bytes = 0;
};

struct MatcherObject {
    PyObject_HEAD
    Matcher *made;
};

bool read_offsets(PyObject *tuple, std::size_t width_bytes, std::size_t value_bytes, std::vector<std::uint32_t> &out) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) {
        const Py_ssize_t offset = PyLong_AsSsize_t(PyTuple_GetItem(tuple, i));
        if (offset == -1 && PyErr_Occurred()) return false;
        if (offset < 0 || static_cast<std::size_t>(offset) + value_bytes > width_bytes) {
            PyErr_SetString(PyExc_ValueError, "an offset is outside of the frame");
            return false;
        }
        out.push_back(static_cast<std::uint32_t>(offset));
    }
    return true;
}

PyObject *matcher_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
    Py_ssize_t width;
    PyObject *checked, *expected_object, *numbers;
    if (!PyArg_ParseTuple(arguments, "nO!SO!", &width, &PyTuple_Type, &checked, &expected_object, &PyTuple_Type,
                          &numbers))
        return nullptr;
    const Bytes expected(expected_object);
    if (width < 1 || width > 1 << 24 || expected.size != PyTuple_Size(checked) || PyTuple_Size(numbers) == 0) {
        PyErr_SetString(PyExc_ValueError, "no layout of a frame");
        return nullptr;
    }
    auto *self = allocated<MatcherObject>(type);
    if (self == nullptr) return nullptr;
    try {
        self->made = new Matcher;
        self->made->width_bytes = static_cast<std::size_t>(width);
        self->made->expected.assign(expected.begin, expected.begin + expected.size);
        if (!read_offsets(checked, self->made->width_bytes, 1, self->made->checked) ||
            !read_offsets(numbers, self->made->width_bytes, 4, self->made->numbers)) {
            Py_DECREF(self);
            return nullptr;
        }
    } catch (const std::bad_alloc &) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return reinterpret_cast<PyObject *>(self);
}

// The frame number of the frame at `start`; None if it has another layout, or is not whole.
PyObject *matcher_match(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "match takes data and start");
        return nullptr;
    }
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(arguments[0], &data, &size) < 0) return nullptr;
    const Py_ssize_t start = PyLong_AsSsize_t(arguments[1]);
    if (start == -1 && PyErr_Occurred()) return nullptr;
    const Matcher &made = *reinterpret_cast<MatcherObject *>(object)->made;
    if (start < 0 || start > size || static_cast<std::size_t>(size - start) < made.width_bytes) Py_RETURN_NONE;
    const auto *frame = reinterpret_cast<const unsigned char *>(data) + start;
    for (std::size_t i = 0; i < made.checked.size(); ++i)
        if (frame[made.checked[i]] != made.expected[i]) Py_RETURN_NONE;
    const unsigned char *number = frame + made.numbers[0];
    for (std::uint32_t offset : made.numbers)
        if (std::memcmp(frame + offset, number, 4) != 0) Py_RETURN_NONE;
    return PyLong_FromLong(static_cast<std::int32_t>(u32_at(number)));
}

PyMethodDef template_methods[] = {
    {"render", as_method(template_render), METH_FASTCALL,
     "render(data, start, number): the template with the values at `start`, as bytes."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef matcher_methods[] = {
    {"match", as_method(matcher_match), METH_FASTCALL,
     "match(data, start): the number of the frame at `start`, or None if it has another layout."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot template_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(template_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<TemplateObject>)},
    {Py_tp_methods, template_methods},
    {Py_tp_doc, const_cast<char *>("Template(form, parts): literals with values of a frame between them.")},
    {0, nullptr},
};

PyType_Slot matcher_slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(matcher_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<MatcherObject>)},
    {Py_tp_methods, matcher_methods},
    {Py_tp_doc, const_cast<char *>("Matcher(width, checked, expected, numbers): whether a frame has a layout.")},
    {0, nullptr},
};

PyType_Spec template_spec = {"slpstream.formats.kernel._kernel.Template", sizeof(TemplateObject), 0, Py_TPFLAGS_DEFAULT,
                             template_slots};
PyType_Spec matcher_spec = {"slpstream.formats.kernel._kernel.Matcher", sizeof(MatcherObject), 0, Py_TPFLAGS_DEFAULT,
                            matcher_slots};

State *state_of(PyObject *module) { return static_cast<State *>(PyModule_GetState(module)); }

int fill_module(PyObject *module) {
    PyType_Spec *specs[] = {&template_spec, &matcher_spec, &walk_spec, &table_spec};
    for (PyType_Spec *spec : specs) {
        PyObject *made = PyType_FromModuleAndSpec(module, spec, nullptr);
        const bool is_added = made != nullptr && PyModule_AddType(module, reinterpret_cast<PyTypeObject *>(made)) == 0;
        Py_XDECREF(made);
        if (!is_added) return -1;
    }
    state_of(module)->offsets = PyType_FromModuleAndSpec(module, &offsets_spec, nullptr);
    return state_of(module)->offsets == nullptr ? -1 : 0;
}

int visit_module(PyObject *module, visitproc visit, void *arg) {
    Py_VISIT(state_of(module)->offsets);
    return 0;
}

int clear_module(PyObject *module) {
    Py_CLEAR(state_of(module)->offsets);
    return 0;
}

void free_module(void *module) { clear_module(static_cast<PyObject *>(module)); }

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void *>(fill_module)}, {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "The compiled kernel.", sizeof(State), nullptr,
                          module_slots, visit_module, clear_module, free_module};

}  // namespace
}  // namespace kernel

PyMODINIT_FUNC PyInit__kernel() { return PyModuleDef_Init(&kernel::definition); }
