"""ONNX Runtime with the same trees, one thread, inputs and outputs bound. Arguments: MODEL ROWS."""

import sys

import contest
import numpy as np
import onnxruntime


def main() -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(sys.argv[1], options, ["CPUExecutionProvider"])
    name, features = session.get_inputs()[0].name, session.get_inputs()[0].shape[1]
    output = session.get_outputs()[1].name
    rows = np.fromfile(sys.argv[2], "<f8").reshape(-1, features).astype(np.float32)
    place = onnxruntime.OrtValue.ortvalue_from_numpy(rows[:1].copy())
    bound_one, bound_all = session.io_binding(), session.io_binding()
    bound_one.bind_ortvalue_input(name, place)
    bound_all.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(rows))
    for bound in (bound_one, bound_all):
        bound.bind_output(output, "cpu")
    run = session.run_with_iobinding
    single = [rows[index : index + 1] for index in range(len(rows))]

    def together() -> int:
        run(bound_all)
        return len(rows)

    def alone() -> int:
        for row in single:
            place.update_inplace(row)
            run(bound_one)
        return len(rows)

    def written() -> bytes:
        together()
        return bound_all.copy_outputs_to_cpu()[0][:, 1].astype("<f8").tobytes()

    contest.serve({"together": together, "alone": alone}, {"scores": written})


main()
