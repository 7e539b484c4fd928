import SheafMesh

extension Verb {
    static let mesh = Verb(
        name: "mesh", summary: "simulated peers that disconnect, crash and reconnect",
        operands: .single("DIRECTORY"),
        options: [
            .seed,
            .number("--meshes", "N", "simulate at least N meshes"),
            .number("--hours", "H", "simulate at least H hours, 1 by default"),
            CheckOption(
                name: "--files", summary: "share attachments in each mesh, not in every fourth"),
            CheckOption(
                name: "--watch", value: .text("DOCUMENT"), summary: "print a document's history"),
            .number("--hubs", "N", "simulate N hubs of one log, and their clients"),
            .number("--paired", "N", "compare frames with and without hidden documents"),
            CheckOption(name: "--attack", summary: "send random requests about hidden data"),
            .number("--minutes", "M", "attack for at least M minutes"),
            .number("--subscriptions", "N", "make at least N subscriptions, 10,000 by default"),
            CheckOption(
                name: "--flood", value: .text("KIND"),
                summary: "measure the memory that an attacker can take, in DIRECTORY"),
        ],
        details: "kinds of floods: \(kinds)",
        run: { (arguments) throws(UsageError) in try Mesh.run(arguments) })

    fileprivate static let kinds = UnknownPeerMemory.Flood.allCases.map(\.rawValue)
        .joined(separator: ", ")
}

/// The simulation of meshes of peers.
private enum Mesh {
    static func run(_ arguments: CheckArguments) throws(UsageError) -> Int32 {
        if let kind = arguments.text("--flood") {
            guard let flood = UnknownPeerMemory.Flood(rawValue: kind) else {
                throw UsageError("unknown kind '\(kind)'; the kinds are \(Verb.kinds)")
            }
            guard let directory = arguments.operands.first else {
                throw UsageError("--flood requires a kind and a directory")
            }
            return FloodMeasure.run(flood, in: directory)
        }
        guard arguments.operands.isEmpty else { throw UsageError("only --flood takes a directory") }
        printLine("sheaf-check mesh, seed \(arguments.seed)")
        let hubs = arguments.count("--hubs")
        if hubs > 0 {
            return HubModes.run(
                hubs, simulations: arguments.count("--meshes"), hours: arguments.count("--hours"),
                from: arguments.seed)
        }
        let simulations = arguments.count("--paired")
        if simulations > 0 { return PairedModes.run(simulations, from: arguments.seed) }
        if arguments.has("--attack") {
            return PairedModes.attack(
                minutes: arguments.count("--minutes"),
                subscriptions: arguments.number("--subscriptions") ?? 10_000, seed: arguments.seed)
        }
        var (meshes, hours) = (arguments.count("--meshes"), arguments.count("--hours"))
        if meshes == 0, hours == 0 { hours = 1 }
        return runMeshes(
            meshes, hours, seed: arguments.seed, arguments.has("--files"),
            observing: arguments.text("--watch"))
    }

    private static func runMeshes(
        _ meshes: Int, _ hours: Int, seed: UInt64, _ sharesFiles: Bool, observing observed: String?
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
                mesh.observed = observed
                mesh.printLine = printLine
                try mesh.run()
                total.add(mesh.report)
                if number % 4 == 1 { try PairedSimulations(seed: number).run(actions: 60) }
            } catch {
                printLine(
                    "violation: \(error)\nto reproduce: sheaf-check mesh --seed \(seed + UInt64(count)) --meshes 1"
                        + (sharesFiles ? " --files" : "")
                )
                return CheckExitCode.failed
            }
            count += 1
        }
        printLine(
            "\(count) meshes, \(total.virtualSeconds / 3_600) hours, \(total.commits) commits, "
                + "\(total.crashes) crashes, \(total.connections) connections, "
                + "\(total.files) files, \(total.fetches) fetches, "
                + "\(total.frames) frames, \(total.bytes) bytes, \(total.events) events "
                + "in \(stopwatch)")
        printLine("hash of the frames: \(String(total.frameHash, radix: 16))")
        let closeMessages = total.closeMessages.sorted { $0.key < $1.key }
            .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        printLine(
            "\(total.scanned) frames scanned, \(total.lies) false frames, connections closed: "
                + closeMessages)
        printLine("0 violations")
        return CheckExitCode.passed
    }
}
