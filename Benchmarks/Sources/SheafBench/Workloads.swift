import BenchHarness

/// All workloads; a new one is a file and a line here.
enum Workloads {
    static var all: [Workload] {
        [
            StorageWorkload.workload, TreeWorkload.workload, OpenWorkload.workload,
            DocumentsWorkload.workload, DiffingWorkload.workload, QueryWorkload.workload,
            FanoutWorkload.workload, TransactionsWorkload.workload,
            AttachmentsWorkload.workload, ShippingWorkload.workload,
        ]
    }
}
