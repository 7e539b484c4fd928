/// The selected cases, in the order of their workloads.
package struct Selection {
    /// The workloads, each reduced to the selected cases.
    package let workloads: [Workload]

    /// Selects workloads and cases by name; no names select everything.
    ///
    /// The name of a figure selects its case: `storage/durable-1-p99` belongs to
    /// `storage/durable-1`.
    package init(_ names: [String], from all: [Workload]) throws(BenchmarkArguments.Misuse) {
        guard !names.isEmpty else {
            workloads = all
            return
        }
        var chosen = Set<String>()
        for name in names {
            let matches = all.flatMap { workload in
                workload.cases.filter { test in
                    name == workload.name
                        || test.figureNames.contains { name == "\(workload.name)/\($0)" }
                }.map { "\(workload.name)/\($0.name)" }
            }
            guard !matches.isEmpty else {
                let known = all.flatMap { workload in
                    [workload.name] + workload.cases.map { "\(workload.name)/\($0.name)" }
                }
                let hint = Nearest.hint(for: name, among: known)
                throw BenchmarkArguments.Misuse("unknown workload or case \(name)\(hint)")
            }
            chosen.formUnion(matches)
        }
        workloads = all.compactMap { workload in
            let cases = workload.cases.filter { chosen.contains("\(workload.name)/\($0.name)") }
            return cases.isEmpty
                ? nil : Workload(workload.name, workload.summary, cases: cases)
        }
    }
}
