/// The output of `--profile`.
extension Profile {
    /// Writes the folded stacks and the flame graph; returns lines with the tables and the paths.
    func report(
        _ workload: String, to files: PlotFiles, folder: Folder
    ) throws -> [String] {
        guard count > 0 else {
            return ["The profile has no samples: the rounds of sheaf were too short."]
        }
        let frames = Set(stacks.keys.joined())
        let readable = SymbolName.readable(Set(frames.map(\.symbol)), folder: folder)
        let name = { (frame: Frame) in readable[frame.symbol] ?? frame.symbol }
        let graph = FlameGraph.svg(self, title: "\(workload): where the time went", name)
        let paths = [
            try files.write(folded(name), to: "\(workload)-profile.folded"),
            try files.write(graph, to: "\(workload)-profile.svg"),
        ]
        let title =
            "Profile of \(workload), rounds of sheaf: \(Format.number(Double(count))) samples"
        return ["", title] + table(name) + [""] + paths.map { "wrote \($0)" }
    }
}
