package import BenchHarness
import SheafBytes
import SheafQuery

extension WorkloadFile {
    /// Returns the workload of a file, for the harness; throws `LoadedWorkload.Malformed`.
    ///
    /// A quick run has a tenth of the repetitions of setup steps, and a fifth of the rounds' limit.
    package static func load(
        _ text: String, path: String, isQuick: Bool
    ) throws -> LoadedWorkload {
        let file: WorkloadFile
        do {
            file = try WorkloadFileParser.parse(text, name: name(of: path))
        } catch {
            throw LoadedWorkload.Malformed(error.description(file: path))
        }
        let run = isQuick ? file.quick : file
        let digest = Array(file.text.utf8).withUnsafeBytes { XXH3.hash64($0) }
        return LoadedWorkload(
            summary: file.summary, digest: String(digest, radix: 16),
            durability: file.settings.durability.rawValue, seed: file.settings.seed,
            rounds: isQuick ? nil : file.settings.rounds
        ) { folder in
            try await run.workload(comparingIn: folder)
        }
    }

    /// Returns the name of a file without folders and extension, in the characters of file names.
    private static func name(of path: String) -> String {
        let last = path.split(separator: "/").last ?? ""
        let stem = last.split(separator: ".").first ?? "workload"
        return String(stem.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }

    private var quick: WorkloadFile {
        var quick = self
        for index in quick.setup.indices where quick.setup[index].times > 1 {
            quick.setup[index].times = max(1, quick.setup[index].times / 10)
        }
        switch settings.limit {
        case .seconds(let seconds): quick.settings.limit = .seconds(max(0.01, seconds / 5))
        case .operations(let count): quick.settings.limit = .operations(max(1, count / 5))
        }
        return quick
    }

    /// Compares the systems, and returns the workload with those that agree.
    package func workload(
        comparingIn folder: Folder
    ) async throws -> (workload: Workload, notes: [String]) {
        var systems = [
            System(Figure.engine) { try await SheafWorkloadTrial(self, $0) }
        ]
        var notes: [String] = []
        do {
            let statements = try SQLiteStatements(self)
            try await WorkloadComparison.run(self, statements, in: folder)
            systems.append(
                System("sqlite") { try await SQLiteWorkloadTrial(self, statements, $0) })
        } catch let failure as SQLiteStatements.Untranslatable {
            notes.append("sqlite is left out, because statements have no counterpart:")
            notes += failure.reasons.map { "  \($0)" }
        } catch let difference as WorkloadComparison.Difference {
            notes.append("sqlite is left out, because its results differ:")
            notes.append("  \(difference)")
        }
        let test = Case(
            "all", "all operations of the mix", unit: "operations/s", .higher, hasLatencies: true,
            parts: mix.map(\.name), systems: systems)
        return (Workload(name, "the workload of a file", cases: [test]), notes)
    }

    /// The settings and steps in sentences, with the statements for SQLite.
    private var summary: [String] {
        var lines = [
            "\(name): \(settings.tasks) \(settings.tasks == 1 ? "task" : "tasks"), durability \(settings.durability.rawValue), "
                + "seed \(settings.seed)"
        ]
        let total = mix.reduce(0) { $0 + $1.weight }
        let rows =
            setup.map { ["  setup \($0.name)", "\($0.times) times", $0.statements[0].description] }
            + mix.map { step in
                let share = Format.fixed(step.weight / total * 100, decimals: 1)
                return ["  mix \(step.name)", "\(share) %", step.statements[0].description]
            }
        lines += Format.table(
            rows.map { $0.dropLast() + [WorkloadFileError.shortened($0[2])] }, rightAligned: [1])
        do {
            let statements = try SQLiteStatements(self)
            lines.append("SQLite executes:")
            let names = (setup + mix).map(\.name)
            for (name, translations) in zip(names, statements.setup + statements.mix) {
                lines += translations.map { "  \(name): \($0.sql)" }
            }
        } catch {
            lines.append("SQLite is left out, because statements have no counterpart:")
            lines += error.reasons.map { "  \($0)" }
        }
        return lines
    }
}
