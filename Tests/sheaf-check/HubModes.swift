import SheafMesh

/// The simulation of hubs that share a log.
enum HubModes {
    static func run(_ hubs: Int, simulations: Int, hours: Int, from seed: UInt64) -> Int32 {
        let hours = simulations == 0 && hours == 0 ? 1 : hours
        var total = HubSimulation.Report()
        var count = 0
        let stopwatch = Stopwatch()
        while count < simulations || total.virtualSeconds < UInt64(hours) * 3_600 {
            do {
                let simulation = try HubSimulation(seed: seed + UInt64(count), hubs: hubs)
                try simulation.run()
                total.add(simulation.report)
            } catch {
                printLine(
                    "violation: \(error)\nto reproduce: sheaf-check mesh --hubs \(hubs) "
                        + "--seed \(seed + UInt64(count)) --meshes 1")
                return CheckExitCode.failed
            }
            count += 1
        }
        printLine(
            "\(count) simulations of \(hubs) hubs, \(total.virtualSeconds / 3_600) hours, "
                + "\(total.commits) commits, \(total.kills) kills of hubs, \(total.moves) moves of "
                + "clients, \(total.entries) entries, \(total.acknowledged) acknowledgments "
                + "checked, \(total.confirmed) of them in a second hub, in \(stopwatch)")
        printLine("0 violations")
        return CheckExitCode.passed
    }
}
