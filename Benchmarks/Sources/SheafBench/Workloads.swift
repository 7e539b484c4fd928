import BenchHarness
import BenchStores
import BenchWorkloads

/// All workloads; a new one needs a file, and a line in this list.
enum Workloads {
    static var all: [Workload] {
        [
            StorageWorkload.workload, TreeWorkload.workload, OpenWorkload.workload,
            DocumentsWorkload.workload, DiffingWorkload.workload, QueryWorkload.workload,
            FanoutWorkload.workload, TransactionsWorkload.workload,
            AttachmentsWorkload.workload, ShippingWorkload.workload, ImportWorkload.workload,
            ConnectionsWorkload.workload, PastWorkload.workload, InspectionWorkload.workload,
            tables,
        ]
    }

    /// The queries of four applications.
    private static var tables: Workload {
        Workload(
            "workloads",
            "queries of four applications: documents, and tables of SQLite and DuckDB",
            cases: TableWorkload.all.map(\.test))
    }
}
