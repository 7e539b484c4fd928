import SheafStorage
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

let usage = """
    usage: sheaf-crash kill [ROUNDS [SEED]]
           sheaf-crash readers [SECONDS [SEED]]
           sheaf-crash beside [PAIRS]
           sheaf-crash attachments [ROUNDS [SEED]]
           sheaf-crash power [ROUNDS [SEED]]
           sheaf-crash memory [ROUNDS [SEED]]
           sheaf-crash backups [ROUNDS]
           sheaf-crash copies [ROUNDS [SEED]]
           sheaf-crash speed [MEGABYTES]
           sheaf-crash lock
           sheaf-crash leaks [ROUNDS]
           sheaf-crash stores [ROUNDS]
           sheaf-crash peers [ROUNDS]
           sheaf-crash modes
    """

let arguments = Array(CommandLine.arguments.dropFirst())
let rounds = arguments.dropFirst().first.flatMap { Int($0) }
let seed =
    arguments.dropFirst(2).first.flatMap { UInt64($0) }
    ?? OperatingSystem.randomInteger() % 1_000_000_000

do {
    switch arguments.first {
    case "kill":
        ChildCommand.print("\(try Kill.run(rounds: rounds ?? 200, seed: seed))", to: 1)
    case "readers":
        ChildCommand.print(try Readers.run(seconds: rounds ?? 60, seed: seed), to: 1)
    case "beside":
        // Threads inherit the processor of the thread that starts them.
        WriterBesideReaders.restrict(to: "0")
        ChildCommand.print(try await WriterBesideReaders.run(pairs: rounds ?? 10), to: 1)
    case "attachments":
        ChildCommand.print(try await AttachmentKill.run(rounds: rounds ?? 100, seed: seed), to: 1)
    case "power":
        if let unavailableReason = LoopDisk.unavailableReason {
            ChildCommand.print("skipped: \(unavailableReason)", to: 1)
        } else {
            ChildCommand.print("\(try PowerCut.run(rounds: rounds ?? 20, seed: seed))", to: 1)
        }
    case "backups":
        if let unavailableReason = LoopDisk.unavailableReason {
            ChildCommand.print("skipped: \(unavailableReason)", to: 1)
        } else {
            ChildCommand.print(try await RestoredBackups.run(rounds: rounds ?? 1), to: 1)
        }
    case "copies":
        ChildCommand.print(try CopyKill.run(rounds: rounds ?? 100, seed: seed), to: 1)
    case "speed":
        ChildCommand.print(try CopySpeed.run(megabytes: rounds ?? 1_000), to: 1)
    case "memory":
        if let unavailableReason = MemoryExhaustion.unavailableReason {
            ChildCommand.print("skipped: \(unavailableReason)", to: 1)
        } else {
            ChildCommand.print(
                "\(try MemoryExhaustion.run(rounds: rounds ?? 200, seed: seed))", to: 1)
        }
    case "lock":
        ChildCommand.print(try Kill.lock(), to: 1)
    case "leaks":
        ChildCommand.print(try await Leaks.run(rounds: rounds ?? 200), to: 1)
    case "stores":
        ChildCommand.print(try await StoreLeaks.run(rounds: rounds ?? 10_000), to: 1)
    case "modes":
        ChildCommand.print(try await FileModes.run(), to: 1)
    case "peers":
        ChildCommand.print(try await PeerLeaks.run(rounds: rounds ?? 1_000), to: 1)
    case "child" where arguments.count == 3 && arguments[1] == "load":
        try await ChildCommand.load(arguments[2])
    case "child" where arguments.count == 4 && arguments[1] == "follow":
        try ChildCommand.follow(arguments[2], isWatching: arguments[3] == "1")
    case "child" where arguments.count == 3 && arguments[1] == "refresh":
        try ChildCommand.refresh(arguments[2])
    case "child" where arguments.count == 3 && arguments[1] == "hold":
        try ChildCommand.hold(arguments[2])
    case "child" where arguments.count == 4 && arguments[1] == "attach":
        try await AttachmentKill.load(arguments[2], from: Int(arguments[3]) ?? 0)
    case "child" where arguments.count == 4 && arguments[1] == "copy":
        try await CopyKill.load(arguments[2], from: Int(arguments[3]) ?? 0)
    case "child" where arguments.count == 4 && arguments[1] == "open":
        try ChildCommand.open(arguments[2], withOnly: Int(arguments[3]) ?? 0)
    case "child" where arguments.count == 5 && arguments[1] == "starve":
        try await ChildCommand.starve(
            arguments[2], room: Int(arguments[3]) ?? 0, MemoryUse(rawValue: arguments[4]) ?? .bytes)
    default:
        ChildCommand.print(usage, to: 2)
        exit(64)
    }
} catch {
    ChildCommand.print("failure: \(error)", to: 1)
    exit(1)
}
