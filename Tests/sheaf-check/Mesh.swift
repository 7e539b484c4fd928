import SheafMesh

extension Verb {
    static let mesh = Verb(
        name: "mesh", summary: "simulated peers that disconnect, crash and reconnect",
        operands: .single("DIRECTORY"),
        options: [
            .seed,
            .number("--meshes", "N", "simulate at least N meshes"),
            .number("--hours", "H", "simulate at least H hours, 1 by default"),
            Option(name: "--files", summary: "share attachments in each mesh, not in every fourth"),
            Option(
                name: "--watch", value: .text("DOCUMENT"), summary: "print a document's history"),
            .number("--worlds", "N", "compare frames with and without hidden documents"),
            Option(name: "--attack", summary: "send random requests about hidden data"),
            .number("--minutes", "M", "attack for at least M minutes"),
            .number("--subscriptions", "N", "make at least N subscriptions, 10,000 by default"),
            Option(
                name: "--flood", value: .text("KIND"),
                summary: "measure the memory that an attacker can take, in DIRECTORY"),
        ],
        details: "kinds of floods: \(kinds)",
        run: { (arguments) throws(Misuse) in try Mesh.run(arguments) })

    fileprivate static let kinds = StrangerMemory.Flood.allCases.map(\.rawValue)
        .joined(separator: ", ")
}

/// The simulation of meshes of peers.
private enum Mesh {
    static func run(_ arguments: Arguments) throws(Misuse) -> Int32 {
        if let kind = arguments.text("--flood") {
            guard let flood = StrangerMemory.Flood(rawValue: kind) else {
                throw Misuse("unknown kind '\(kind)'; the kinds are \(Verb.kinds)")
            }
            guard let directory = arguments.operands.first else {
                throw Misuse("--flood requires a kind and a directory")
            }
            return FloodMeasure.run(flood, in: directory)
        }
        guard arguments.operands.isEmpty else { throw Misuse("only --flood takes a directory") }
        say("sheaf-check mesh, seed \(arguments.seed)")
        let worlds = arguments.count("--worlds")
        if worlds > 0 { return Worlds.run(worlds, from: arguments.seed) }
        if arguments.has("--attack") {
            return Worlds.attack(
                minutes: arguments.count("--minutes"),
                subscriptions: arguments.number("--subscriptions") ?? 10_000, seed: arguments.seed)
        }
        var (meshes, hours) = (arguments.count("--meshes"), arguments.count("--hours"))
        if meshes == 0, hours == 0 { hours = 1 }
        return runMeshes(
            meshes, hours, seed: arguments.seed, arguments.has("--files"),
            watching: arguments.text("--watch"))
    }

    private static func runMeshes(
        _ meshes: Int, _ hours: Int, seed: UInt64, _ sharesFiles: Bool, watching watched: String?
    ) -> Int32 {
        var total = MeshSimulation.Report()
        var count = 0
        let stopwatch = Stopwatch()
        while count < meshes || total.virtualSeconds < UInt64(hours) * 3_600 {
            do {
                // Every fourth mesh shares files; with `--files` all meshes do.
                let number = seed + UInt64(count)
                let mesh = try MeshSimulation(
                    seed: number, sharesFiles: sharesFiles || number % 4 == 3)
                mesh.watched = watched
                mesh.tell = say
                try mesh.run()
                total.add(mesh.report)
                if number % 4 == 1 { try TwoWorlds(seed: number).run(actions: 60) }
            } catch {
                say(
                    "violation: \(error)\nto reproduce: sheaf-check mesh --seed \(seed + UInt64(count)) --meshes 1"
                        + (sharesFiles ? " --files" : "")
                )
                return ExitCode.failed
            }
            count += 1
        }
        say(
            "\(count) meshes, \(total.virtualSeconds / 3_600) hours, \(total.commits) commits, "
                + "\(total.crashes) crashes, \(total.connections) connections, "
                + "\(total.files) files, \(total.fetches) fetches, "
                + "\(total.frames) frames, \(total.bytes) bytes, \(total.events) events "
                + "in \(stopwatch)")
        let farewells = total.farewells.sorted { $0.key < $1.key }
            .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        say(
            "\(total.scanned) frames scanned, \(total.lies) false frames, connections closed: "
                + farewells)
        say("0 violations")
        return ExitCode.passed
    }
}
