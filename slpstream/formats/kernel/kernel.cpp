// The optional compiled kernel: the work for every frame, from reading its bytes on, without Python objects for its fields.
//
// The kernel knows no format. Python describes the events to it (`slpstream/formats/slippi/packed_frame.py`), so there is
// one list of offsets. Without a compiler, this module is not built, and Python does the same work more slowly, with the
// same bytes as a result.
//
// All positions from Python are checked, because hostile bytes reach this code.

#include "kernel.h"

namespace kernel {
namespace {

State *state_of(PyObject *module) { return static_cast<State *>(PyModule_GetState(module)); }

int fill_module(PyObject *module) {
    PyType_Spec *specs[] = {&frames_spec, &fields_spec, &template_spec, &encoder_spec,
                            &walk_spec,   &table_spec,  &log_writer_spec, &watch_spec};
    for (PyType_Spec *spec : specs) {
        PyObject *made = PyType_FromModuleAndSpec(module, spec, nullptr);
        const bool is_added = made != nullptr && PyModule_AddType(module, reinterpret_cast<PyTypeObject *>(made)) == 0;
        Py_XDECREF(made);
        if (!is_added) return -1;
    }
    state_of(module)->template_type = PyObject_GetAttrString(module, "Template");
    if (state_of(module)->template_type == nullptr) return -1;
    state_of(module)->offsets = PyType_FromModuleAndSpec(module, &offsets_spec, nullptr);
    return state_of(module)->offsets == nullptr ? -1 : 0;
}

int visit_module(PyObject *module, visitproc visit, void *arg) {
    Py_VISIT(state_of(module)->offsets);
    Py_VISIT(state_of(module)->template_type);
    return 0;
}

int clear_module(PyObject *module) {
    Py_CLEAR(state_of(module)->offsets);
    Py_CLEAR(state_of(module)->template_type);
    return 0;
}

void free_module(void *module) { clear_module(static_cast<PyObject *>(module)); }

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void *>(fill_module)}, {0, nullptr}};

PyMethodDef module_functions[] = {
#ifndef _WIN32
    {"send_to_all", as_method(send_to_all), METH_FASTCALL,
     "send_to_all(descriptors, data): write to all sockets; index and taken bytes of those that did not take all."},
#endif
    {"read_growth", as_method(read_growth), METH_FASTCALL,
     "read_growth(descriptor, offset, head, checksum, limit): the bytes that were appended to a file."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "The compiled kernel.", sizeof(State), module_functions,
                          module_slots, visit_module, clear_module, free_module};

}  // namespace
}  // namespace kernel

PyMODINIT_FUNC PyInit__kernel() { return PyModuleDef_Init(&kernel::definition); }
