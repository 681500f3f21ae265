// The optional compiled kernel: the work for every frame, from reading its bytes on, without Python objects for its fields.
//
// The kernel knows no format. Python describes the events to it (`slpstream/formats/slippi/packed_frame.py`), so there is
// one list of offsets. Without a compiler, this module is not built, and Python does the same work more slowly, with the
// same bytes as a result. `_kernel.pyi` describes the types and functions.
//
// All positions from Python are checked, because hostile bytes reach this code.

#include "kernel.h"

namespace kernel {
namespace {

int fill_module(PyObject *module) {
    const Owned filled(guarded([module] {
        for (const auto add : {add_frames, add_messages, add_watch, add_log_writer, add_table}) add(module);
        return shared(module);
    }));
    return filled ? 0 : -1;
}

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void *>(fill_module)}, {0, nullptr}};

PyMethodDef module_functions[] = {
#ifndef _WIN32
    method<&send_to_all, 2>("send_to_all"),
#endif
    method<&read_growth, 6>("read_growth"),
    method<&walk, 7>("walk"),
    {},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernel", "The compiled kernel.", 0, module_functions,
                          module_slots, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace kernel

PyMODINIT_FUNC PyInit__kernel() { return PyModuleDef_Init(&kernel::definition); }
