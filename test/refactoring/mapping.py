# ruff: noqa
"""Old path -> new path, for everything that moves. Written as: target folder, then what goes there.

In a block ``("from/", "to/")`` a line ``a b`` moves from/a.py to to/b.py, and ``a`` alone keeps its
name. A name with a slash at its end is a folder with all that it holds; one with a suffix is a file
as it is called.
"""

BLOCKS = {
    ("", ""): "backend onnx_backend",
    ("", "compiler/"): """
        driver
        compiling compile
        explanation explain
        preflight check
        interpret interpreter
        signature model_signature
        lowered_program lowered_module
        bytecode
        model_cache
        extensions
        options
    """,
    ("dialects/graph/", "dialects/graph/"): """
        agreement shape_constraints
        drawing random_inputs
        compact f24_matmul
        packing packed_matmul
        direct_attention fused_attention
        strips fused_depthwise
    """,
    ("frontend/onnx/", "frontend/onnx/importing/"): """
        attributes
        choices
        declarations
        dimension_names
        external external_files
        external_data
        importer
        initializers
        limits
        loading
        long_sizes
        model_import
        names
        opsets
        registry
        standard_bodies
        tensors
        values model_nodes
        weights
    """,
    ("frontend/onnx/", "frontend/onnx/operators/"): """
        attention
        axes
        col2im
        contraction
        control_flow
        convolution
        coupling pairwise_coupling
        deformable_convolution
        detection
        einsum
        elementwise
        evaluation
        experimental
        features
        forest
        gradient
        indexing
        legacy
        linear linear_models
        linear_algebra
        movement
        ngrams
        normalization
        padding
        pooling
        quantization
        random
        recurrent
        reduction
        resampling
        resize
        resized_axes
        rois
        scores
        shapes
        signal
        slicing
        sorting
        training
        trees
        window_products window_matmul
        windows
    """,
    ("frontend/onnx/", "frontend/onnx/partitioning/"): """
        host_types
        inlining
        lookup_types
        lookups
        part_model
        partition
        placement
        plan
        preflight check
    """,
    ("frontend/onnx/microsoft/", "frontend/onnx/microsoft/"): """
        quantized_products quantized_matmul
    """,
    ("passes/", "passes/infra/"): """
        base
        checking
        diagnostics
        greedy
        options
        pass_checking
        pattern
        pipeline
        printing
        query
        registry
        report
        reproducer
        rewrite
        stages
        syntax
    """,
    ("passes/", "passes/analysis/"): """
        arena
        dispatches
        liveness
        moments live_sets
        scheduling
        windows
    """,
    ("passes/", "passes/graph/"): """
        simplify/
        recognize/
        graph_conv_to_matmul conv_to_matmul
        graph_convert_precision convert_precision
        graph_fold_constants fold_constants
        graph_schedule minimize_peak_memory
        graph_specialize_dims specialize_dims
        linear affine_op
        batch_norm/ fold_batch_norm/
        fusion/ fuse/
        layout/ convert_layout/
        merging/ merge_matmuls/
        graph_simplify simplify/graph_simplify
        graph_recognize recognize/graph_recognize
        graph_fold_batch_norm fold_batch_norm/graph_fold_batch_norm
        graph_merge_matmuls merge_matmuls/graph_merge_matmuls
    """,
    ("passes/", "passes/cpu/"): """
        graph_direct_attention fused_attention
        graph_direct_conv direct_convolution
        graph_winograd winograd
        graph_pack_weights select_matmul_kernels
        packed_products matmul_forms
        block_products strassen
        pack_recurrence recurrent
        graph_float_products int8_matmul_to_f32
        graph_fuse_strips fused_depthwise
    """,
    ("passes/", "passes/kernels/"): """
        vectors vector_registers
    """,
    ("passes/graph_to_linalg/", "passes/kernels/"): """
        vector_emitter emitter
        vector_epilogue epilogue
        vector_functions
        functions scalar_functions
        error_function
        team thread_team
        tile_registers amx
        matmul_kernel packed_matmul
        pairs_kernel bf16_matmul
        tile_kernel amx_matmul
        compact_kernel f24_matmul
        strassen_kernel strassen
        attention_kernel fused_attention
        direct_kernel direct_convolution
        winograd_kernel winograd
        strips_kernel fused_depthwise
        recurrent_kernel recurrent
        interpolate_kernel resampling
        softmax_kernel softmax
    """,
    ("passes/graph_to_linalg/", "passes/graph_to_linalg/"): """
        compact f24_matmul
        packing packed_matmul
        direct_attention fused_attention
        strips fused_depthwise
        products reduced_products
        graphics_products gpu_matmul
        kernels kernel_calls
    """,
    ("passes/", "passes/linalg/"): """
        expand_double_math
        expand_round_even
        externalize_transients
        add_destination_entry dps_entry
        entry_arguments abi_arguments
        kernel_ops dispatch_walk
        schedule_affinity work_stealing
        affinity_claims work_claims
    """,
    ("passes/", "passes/linalg/workarounds/"): """
        storing compute_barriers
        store_positions positions
        store_reordered_reductions reordered_reductions
        store_shared_rows shared_rows
        store_spread_values spread_values
        store_strided_slices strided_slices
    """,
    ("runtime/", "runtime/threads/"): """
        affinity
        cpu usable_cpus
        giving_way caller_scheduling
        idle_polling haltpoll
    """,
    ("runtime/", "runtime/targets/"): "cpu_features",
    ("runtime/", "runtime/cache/"): """
        cache_entry entry
        cache_keys keys
        cache_settings settings
        compile_cache
        digests
        user_folders
    """,
    ("runtime/", "runtime/iree_compile/"): """
        child_process
        compiler
        diagnostics
        executables
        kernel_cache
        object_file
        program
        reproducer
        temporary_folder
    """,
    ("runtime/", "runtime/device/"): """
        buffers
        device
        device_tensor
        discovery
        dlpack
        faults status_errors
        foreign dlpack_import
        local_memory host_visible
        memory
        producer_stream
        remote_memory device_local
    """,
    ("runtime/", "runtime/files/"): """
        archive
        module_file
        multi_target_file
        output_file
    """,
    ("runtime/", "runtime/execution/"): """
        adaptive inline_execution
        arguments
        destinations preallocated_outputs
        formulas size_expressions
        hybrid
        hybrid_file
        lane execution_context
        moments memory_estimate
        peak_memory
        profiler
        recovering device_lost
        session
        variants
    """,
    ("debugging/", "debugging/"): """
        culprit bisection_result
        exposure surviving_values
        expressions value_numbering
        lowering_search bisect_lowering
        minimize ddmin
        onnx/subject onnx/test_case
    """,
    ("profiling/", "profiling/"): "report model_profile",
    ("viewing/", "viewing/"): "report compilation_report",
    ("tools/", "tools/"): """
        explain explain_error
        searching failure_search
        values value_files
    """,
    ("tools/", "test/"): """
        conformance/
        fuzz/
        gpu_check/
        hostile/ robustness/
        fuzz/values fuzz/drawn_values
        fuzz/drawing fuzz/draw
        hostile/values robustness/substitutes
        hostile/minimize robustness/ddmin
        conformance/together conformance/batched
        gpu_check/report gpu_check/device_results
        check_wheel.sh
    """,
    ("tools/", "test/harness/"): """
        docs
        generated
        isolation
        journal
        long_tests
        reliability
        variation
    """,
    ("benchmarks/", "test/harness/"): """
        check_rewrites
        soak
    """,
    # tests
    ("test/", "test/compiler/"): """
        test_compiling test_compile
        test_driver
        test_interpret test_interpreter
    """,
    ("test/", "test/"): "test_backend test_onnx_backend",
    ("test/dialects/graph/", "test/dialects/graph/"): "strips.mlir fused_depthwise.mlir",
    ("test/frontend/onnx/", "test/frontend/onnx/importing/"): """
        test_broken_models
        test_choices
        test_dimension_names
        test_external_data
        test_functions
        test_importer
        test_limits
        test_loading
        test_types
        test_unknown_sizes
        test_weights
    """,
    ("test/frontend/onnx/", "test/frontend/onnx/partitioning/"): """
        test_inlining
        test_lookups
    """,
    ("test/frontend/onnx/", "test/frontend/onnx/operators/"): """
        test_attention
        test_axes
        test_cast_chains
        test_casts
        test_contraction
        test_control_flow
        test_convolution
        test_detection
        test_elementwise
        test_experimental
        test_features
        test_gradient
        test_indexing
        test_legacy
        test_linear test_linear_models
        test_linear_algebra
        test_movement
        test_ngrams
        test_normalization
        test_pooling
        test_quantization
        test_random
        test_recurrent
        test_reduction
        test_resampling
        test_resize
        test_rois
        test_signal
        test_sorting
        test_training
        test_trees
    """,
    ("test/frontend/onnx/microsoft/", "test/frontend/onnx/microsoft/"): """
        test_quantized_products test_quantized_matmul
    """,
    ("test/passes/", "test/passes/infra/"): """
        test_checked_models
        test_checking
        test_options
        test_pattern
        test_pipeline
        test_query
        test_registry
        test_report
        test_rewrite
    """,
    ("test/passes/", "test/passes/analysis/"): """
        test_allocation
        test_arena
        test_liveness
        test_moments test_live_sets
    """,
    ("test/passes/", "test/passes/graph/"): """
        batch_norm/ fold_batch_norm/
        merging/ merge_matmuls/
        recognize/
        test_graph_fold_constants test_fold_constants
        test_graph_schedule test_minimize_peak_memory
        test_graph_specialize_dims test_specialize_dims
        test_layout_and_fusion
        test_simplify
        graph-conv-to-matmul.mlir
        graph-convert-precision.mlir
        graph-fold-batch-norm.mlir
        graph-fold-constants.mlir
        graph-fuse-elementwise.mlir
        graph-fuse-epilogue.mlir
        graph-layout.mlir
        graph-merge-matmuls.mlir
        graph-recognize.mlir
        graph-schedule.mlir
        graph-simplify-locations.mlir
        graph-simplify.mlir
        graph-specialize-dims.mlir
    """,
    ("test/passes/", "test/passes/cpu/"): """
        test_compact_matmul test_f24_matmul
        test_graph_direct_attention test_fused_attention
        test_graph_direct_conv test_direct_convolution
        test_graph_float_products test_int8_matmul_to_f32
        test_graph_fuse_strips test_fused_depthwise
        test_graph_pack_weights test_select_matmul_kernels
        test_graph_winograd test_winograd
        test_narrow_matmul
        test_strassen
        graph-direct-attention.mlir
        graph-direct-conv.mlir
        graph-float-products.mlir
        graph-fuse-strips.mlir
        graph-pack-weights-bf16.mlir
        graph-pack-weights.mlir
        graph-winograd.mlir
    """,
    ("test/passes/", "test/passes/kernels/"): """
        test_interpolate_kernel test_resampling
        test_softmax_kernel test_softmax
        test_vector_epilogue test_epilogue
        graph_to_linalg/test_functions test_scalar_functions
    """,
    ("test/passes/", "test/passes/graph_to_linalg/"): """
        Inputs/
        convert-graph-to-linalg-errors.mlir
        convert-graph-to-linalg.mlir
        graph_to_linalg/compact.mlir f24_matmul.mlir
        graph_to_linalg/direct_attention.mlir fused_attention.mlir
        graph_to_linalg/strips.mlir fused_depthwise.mlir
    """,
    ("test/passes/", "test/passes/linalg/"): """
        test_expand_double_math
        test_schedule_affinity test_work_stealing
        add-destination-entry.mlir
        expand-double-math.mlir
        expand-round-even.mlir
        externalize-transients.mlir
        schedule-affinity.mlir
    """,
    ("test/passes/", "test/passes/linalg/workarounds/"): """
        store-positions.mlir
        store-reordered-reductions.mlir
        store-shared-rows.mlir
        store-spread-values.mlir
        store-strided-slices.mlir
    """,
    ("test/property/", "test/property/"): "test_strips test_fused_depthwise",
    ("test/runtime/", "test/runtime/threads/"): """
        test_affinity
        test_cpu test_usable_cpus
        test_giving_way test_caller_scheduling
        test_idle_polling test_haltpoll
    """,
    ("test/runtime/", "test/runtime/targets/"): """
        test_cpu_features
        test_targets
    """,
    ("test/runtime/", "test/runtime/cache/"): """
        test_cache_settings test_settings
        test_compile_cache
        test_digests
    """,
    ("test/runtime/", "test/runtime/iree_compile/"): """
        test_child_process
        test_compiler
        test_object_file
    """,
    ("test/runtime/", "test/runtime/device/"): """
        test_device_tensor
        test_discovery
        test_dlpack
        test_faults test_status_errors
        test_memory
    """,
    ("test/runtime/", "test/runtime/files/"): """
        test_archive
        test_module_file
        test_multi_target_file
    """,
    ("test/runtime/", "test/runtime/execution/"): """
        test_adaptive test_inline_execution
        test_destinations test_preallocated_outputs
        test_moments test_memory_estimate
        test_recovering test_device_lost
        test_transients
    """,
    ("test/runtime/", "test/runtime/host/"): """
        test_host
        test_host_numeric test_numeric
    """,
    ("test/tools/", "test/conformance/"): """
        test_conformance
        test_conformance_together test_batched
    """,
    ("test/", "test/conformance/"): "test_cuda_suite",
    ("test/tools/", "test/converted/"): "test_converted",
    ("test/tools/", "test/fuzz/"): "test_fuzz",
    ("test/tools/", "test/gpu_check/"): "test_gpu_check",
    ("test/tools/", "test/robustness/"): "test_hostile test_robustness",
    ("test/tools/", "test/harness/"): """
        test_reliability
        test_variation
    """,
    ("test/benchmarks/", "test/harness/"): "test_soak",
    ("test/tools/", "test/tools/"): "test_explain test_explain_error",
}

NEW_PACKAGES = {
    "compiler": "From a model to something that runs: what users call, and the driver below it.",
    "frontend/onnx/importing": "A model as a program of the `graph` dialect: files, weights, nodes.",
    "frontend/onnx/operators": "ONNX's operators: a file of converters for each family.",
    "frontend/onnx/partitioning": "A model of which some nodes run on the host, divided into parts.",
    "passes/infra": "The frame of every pass: pipelines, options, rewrites, the greedy driver, reports.",
    "passes/analysis": "Properties of programs: liveness, dispatches, the memory that a run takes.",
    "passes/graph": "Passes over the `graph` dialect, for every target.",
    "passes/cpu": "Passes that choose kernels for the registers and caches of a CPU.",
    "passes/kernels": "Kernels of our own, written in `scf`, `vector` and `arith`.",
    "passes/linalg": "Passes over the lowered program.",
    "passes/linalg/workarounds": "Passes that work around faults of IREE.",
    "runtime/cache": "Compiled modules and kernels on disk, by a digest of all that decides them.",
    "runtime/device": "Devices, their memory, and the tensors in it.",
    "runtime/execution": "Calls of compiled modules.",
    "runtime/files": "The files of compiled models.",
    "runtime/iree_compile": "`iree-compile` as a child process.",
    "runtime/threads": "The threads that run a model, and the CPUs that they run on.",
    "test/harness": "Shared parts of the long-running test programs, and those that are one file.",
}


BATCHES = {
    "passes": ("passes/", "test/passes/"),
    "runtime": ("runtime/", "test/runtime/"),
    "frontend": ("frontend/", "test/frontend/"),
    "dialects": ("dialects/", "test/dialects/", "test/property/"),
    "rest": ("",),
}
"""Batches that move together, by how old paths begin, in an order in which each leaves a tree that works."""


def _lines():
    for (source, target), text in BLOCKS.items():
        for line in text.strip().splitlines():
            words = line.split()
            old, new = source + words[0], target + words[-1]
            if "." not in old.rpartition("/")[2] and not old.endswith("/"):
                old, new = f"{old}.py", f"{new}.py"
            yield old, new


def table():
    """Old path to new path, as far as the table names files."""
    return dict(_lines())


def moves(files, batch=None):
    """{old path: new path} of `files`, and the lines of the table that name nothing."""
    files, found, problems = set(files), {}, []
    lines = list(_lines())
    if batch is not None:
        earlier = [each for name in [*BATCHES][: [*BATCHES].index(batch)] for each in BATCHES[name]]
        lines = [
            (old, new)
            for old, new in lines
            if old.startswith(BATCHES[batch]) and not old.startswith(tuple(earlier) or "-")
        ]
    for old, new in lines:
        if old.endswith("/"):
            inside = [path for path in files if path.startswith(old)]
            found |= {path: new + path[len(old) :] for path in inside}
            if not inside:
                problems.append(old)
    for old, new in lines:
        if not old.endswith("/"):
            found[old] = new
            if old not in files:
                problems.append(old)
    return {a: b for a, b in found.items() if a in files and a != b}, problems
