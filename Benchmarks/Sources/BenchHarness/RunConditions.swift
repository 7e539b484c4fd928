/// The conditions of a run; only figures measured under the same ones are compared.
package struct RunConditions: Equatable, Sendable {
    package let machine: String
    package let isQuick: Bool
    /// The durability of a workload file; nil for the workloads of the program.
    package let durability: String?
    /// A digest of the contents of a workload file.
    package let file: String?

    /// Creates the conditions of a run.
    package init(
        machine: String, isQuick: Bool, durability: String? = nil, file: String? = nil
    ) {
        self.machine = machine
        self.isQuick = isQuick
        self.durability = durability
        self.file = file
    }

    /// The keys of `members`.
    static let keys = ["mode", "durability", "file"]

    /// The conditions as members of a JSON line, apart from the machine.
    var members: [(key: String, value: String)] {
        [("mode", isQuick ? "quick" : "full")]
            + [("durability", durability), ("file", file)].compactMap { key, value in
                value.map { (key, $0) }
            }
    }

    /// Returns the reason why figures with other conditions are not comparable; nil if they are.
    func difference(from other: [String: String], machine otherMachine: String?) -> String? {
        let mode = isQuick ? "quick" : "full"
        guard let otherMode = other["mode"] else {
            return "does not state whether it was measured with --quick; measure it again"
        }
        guard otherMode == mode else {
            return otherMode == "quick"
                ? "was measured with --quick, and this run is without"
                : "was measured without --quick, and this run is with it"
        }
        let hardware = Self.hardware(of: machine)
        let otherHardware = Self.hardware(of: otherMachine ?? "")
        guard hardware == otherHardware else {
            return "was measured on another machine (\(otherHardware), not \(hardware))"
        }
        guard other["durability"] == durability else {
            return "was measured with durability \(other["durability"] ?? "unknown"), not "
                + (durability ?? "unknown")
        }
        guard other["file"] == file else {
            return "was measured with other contents of the workload file"
        }
        return nil
    }

    /// Returns the description of a machine without the versions of kernel and compiler, so that
    /// figures of two versions can be compared.
    private static func hardware(of machine: String) -> String {
        machine.split(separator: ", ").filter { part in
            !part.hasPrefix("Linux ") && !part.hasPrefix("Swift ")
        }.joined(separator: ", ")
    }
}
