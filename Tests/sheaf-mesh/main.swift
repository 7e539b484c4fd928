import SheafMesh
import SheafSimulator
import SheafStorage
import SheafSystem

/// The `sheaf-mesh` command, which simulates meshes of peers.
enum MeshCommand {
    private static let usage =
        """
        usage: sheaf-mesh [--seed S] [--meshes N] [--hours H] [--files] [--watch DOCUMENT]
               sheaf-mesh [--seed S] --worlds N
               sheaf-mesh [--seed S] --attack [--minutes M] [--subscriptions N]
               sheaf-mesh --flood KIND DIRECTORY
        kinds of floods: \(StrangerMemory.Flood.allCases.map(\.rawValue).joined(separator: ", "))

        """

    static func run(_ arguments: [String]) -> Int32 {
        var (seed, meshes, hours) = (OperatingSystem.randomInteger() % 1_000_000_000, 0, 0)
        var (worlds, minutes, subscriptions, attacks) = (0, 0, 10_000, false)
        var watched: String?
        var sharesFiles = false
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--flood" {
                guard let flood = rest.popFirst().flatMap(StrangerMemory.Flood.init),
                    let directory = rest.popFirst()
                else { return complain("--flood takes a kind and a directory") }
                return FloodMeasure.run(flood, in: directory, say)
            }
            if option == "--watch" {
                watched = rest.popFirst()
                continue
            }
            if option == "--files" {
                sharesFiles = true
                continue
            }
            if option == "--attack" {
                attacks = true
                continue
            }
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(option) takes a number")
            }
            switch option {
            case "--seed": seed = value
            case "--meshes": meshes = Int(clamping: value)
            case "--hours": hours = Int(clamping: value)
            case "--worlds": worlds = Int(clamping: value)
            case "--minutes": minutes = Int(clamping: value)
            case "--subscriptions": subscriptions = Int(clamping: value)
            default: return complain("unknown option \(option)")
            }
        }
        if meshes == 0, hours == 0 { hours = 1 }
        say("sheaf-mesh, seed \(seed)")
        if worlds > 0 { return WorldsCommand.run(worlds, from: seed, say) }
        if attacks {
            return WorldsCommand.attack(
                minutes: minutes, subscriptions: subscriptions, seed: seed, say)
        }
        return runMeshes(meshes, hours, seed: seed, sharesFiles, watching: watched)
    }

    private static func runMeshes(
        _ meshes: Int, _ hours: Int, seed: UInt64, _ sharesFiles: Bool, watching watched: String?
    ) -> Int32 {
        var total = MeshSimulation.Report()
        var count = 0
        let started = Clock.system.monotonicNanoseconds()
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
                    "violation: \(error)\nto reproduce: sheaf-mesh --seed \(seed + UInt64(count)) --meshes 1"
                        + (sharesFiles ? " --files" : "")
                )
                return 1
            }
            count += 1
        }
        let tenths = (Clock.system.monotonicNanoseconds() - started) / 100_000_000
        say(
            "\(count) meshes, \(total.virtualSeconds / 3_600) hours, \(total.commits) commits, "
                + "\(total.crashes) crashes, \(total.connections) connections, "
                + "\(total.files) files, \(total.fetches) fetches, "
                + "\(total.frames) frames, \(total.bytes) bytes, \(total.events) events "
                + "in \(tenths / 10).\(tenths % 10) s")
        let farewells = total.farewells.sorted { $0.key < $1.key }
            .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        say(
            "\(total.scanned) frames scanned, \(total.lies) false frames, connections closed: "
                + farewells)
        say("0 violations")
        return 0
    }

    private static func say(_ line: String) {
        SimulationCommand.write(line + "\n", to: 1)
    }

    private static func complain(_ message: String) -> Int32 {
        say("sheaf-mesh: \(message)\n" + usage)
        return 64
    }
}

exitProcess(MeshCommand.run(Array(CommandLine.arguments.dropFirst())))
