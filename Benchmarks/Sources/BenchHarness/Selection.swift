/// The cases of a run, in the order in which the workloads list them.
package struct Selection {
    /// The workloads, each with the cases that were asked for.
    package let workloads: [Workload]

    /// Picks workloads and cases by name; no names pick everything.
    ///
    /// The name of a figure picks the case that finds it: `storage/durable-1-p99` is part of
    /// `storage/durable-1`.
    package init(_ names: [String], from all: [Workload]) throws(Arguments.Misuse) {
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
                throw Arguments.Misuse("there is no workload or case \(name)\(hint)")
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
