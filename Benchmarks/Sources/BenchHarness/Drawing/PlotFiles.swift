import Glibc

/// The files of `--plot`.
struct PlotFiles {
    private let directory: String

    /// Creates the directory if it does not exist.
    init(directory: String) throws(TextFile.Failure) {
        self.directory = directory
        guard mkdir(directory, 0o755) == 0 || errno == EEXIST else {
            throw TextFile.Failure("create the directory", directory)
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            throw TextFile.Failure("write to", directory)
        }
    }

    /// Writes a file, and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws(TextFile.Failure) -> String {
        let path = "\(directory)/\(name)"
        try TextFile.write(text, to: path)
        return path
    }

    /// Draws the medians of a workload, and the latencies of each case; returns the paths.
    func draw(
        _ figures: [Figure], _ curves: [LatencyCurve], of workload: String, machine: String
    ) throws(TextFile.Failure) -> [String] {
        guard !figures.isEmpty else { return [] }
        let hardware = machine.split(separator: ",").prefix(3).joined(separator: ",")
        var paths = [
            try write(
                RangePlot.svg(figures, title: workload, machine: hardware),
                to: "\(workload)-medians.svg")
        ]
        for name in curves.map(\.name).distinct {
            let text = CurvePlot.svg(
                curves.filter { $0.name == name }, title: "\(workload): latency of \(name)",
                machine: hardware)
            paths.append(try write(text, to: "\(workload)-\(name)-latency.svg"))
        }
        return paths
    }
}
