/// The figures of one run that the README shows as a table and a chart.
package struct PublishedResults {
    private struct Key: Hashable {
        let workload: String
        let name: String
        let system: String
    }

    /// Results that lack a figure or are not of one machine.
    package struct Incomplete: Error, Equatable, CustomStringConvertible {
        package let description: String

        /// Creates an error from a sentence without its full stop.
        package init(_ description: String) {
            self.description = description
        }
    }

    /// A figure of the engine, and how it compares with other systems.
    package struct Row: Equatable {
        /// The ratio to one system.
        package struct Ratio: Equatable {
            package let name: String
            /// How many times better the engine is; below one, it is worse.
            package let advantage: Double
        }

        package let label: String
        package let value: Double
        package let unit: String
        package let ratios: [Ratio]
    }

    /// Rows under one heading.
    package struct Group: Equatable {
        package let title: String
        package let rows: [Row]
    }

    package let groups: [Group]
    /// The machine of the figures, as the run described it.
    package let machine: String

    /// Reads the JSON lines of a run; throws if a figure of `groups` is missing.
    package init(
        parsing text: String, groups: [PublishedGroup] = PublishedGroup.all
    ) throws {
        var lines: [Key: BenchmarkJSONLine] = [:]
        var machines: Set<String> = []
        for (index, line) in text.split(separator: "\n").enumerated() {
            guard let object = try? BenchmarkJSONLine(parsing: String(line)),
                let workload = object.string("workload"), let name = object.string("case"),
                let system = object.string("system"), let machine = object.string("machine")
            else { throw Incomplete("line \(index + 1) is not a figure") }
            lines[Key(workload: workload, name: name, system: system)] = object
            machines.insert(machine)
        }
        guard machines.count == 1, let machine = machines.first else {
            throw Incomplete("the figures are of \(machines.count) machines, not one")
        }
        self.machine = machine
        self.groups = try groups.map { group in
            Group(title: group.title, rows: try group.rows.map { try Self.row($0, lines) })
        }
    }

    private static func row(
        _ row: PublishedRow, _ lines: [Key: BenchmarkJSONLine]
    ) throws -> Row {
        func line(_ system: String) throws -> BenchmarkJSONLine {
            let key = Key(workload: row.workload, name: row.name, system: system)
            guard let line = lines[key] else {
                throw Incomplete(
                    "the results lack \(row.path) of \(system)")
            }
            return line
        }
        let engine = try line(Figure.engine)
        guard let value = engine.number("value"), let unit = engine.string("unit"),
            let better = engine.string("better").flatMap(Better.init(rawValue:))
        else { throw Incomplete("\(row.path) has no value") }
        let ratios = try row.rivals.map { rival in
            let other = try line(rival.system).number("value") ?? 0
            guard let advantage = better.advantage(of: value, over: other) else {
                throw Incomplete(
                    "\(row.path) has no ratio to \(rival.system)")
            }
            return Row.Ratio(name: rival.name, advantage: advantage)
        }
        return Row(label: row.label, value: value, unit: unit, ratios: ratios)
    }
}

extension Format {
    /// Returns a ratio, such as `2.4×`, `31×` or `0.05×`.
    static func ratio(_ advantage: Double) -> String {
        fixed(advantage, decimals: advantage >= 10 ? 0 : advantage >= 1 ? 1 : 2) + "×"
    }
}
