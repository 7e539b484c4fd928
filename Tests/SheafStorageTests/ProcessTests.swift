import SheafTestSupport
import Testing

/// Crash and leak tests in separate processes of `sheaf-crash`.
///
/// `.ci/run` repeats most of them more often in a release build, which needs a sixth of the time.
@Suite(.serialized) struct ProcessTests {
    private func run(_ arguments: String...) throws {
        let (code, lines) = try ChildProcess.run(
            BuiltProgram.path(of: "sheaf-crash"), arguments)
        print("sheaf-crash \(arguments.joined(separator: " ")): \(lines.joined(separator: "\n"))")
        #expect(code == 0, "\(lines)")
    }

    @Test func `a process killed under load loses no acknowledged commit`() throws {
        try run("kill", "24")
    }

    @Test func `a killed process loses no attachment, and fetches resume`() throws {
        try run("attachments", "4")
    }

    @Test func `a process killed during backups leaves complete ones or none`() throws {
        try run("copies", "3")
    }

    @Test func `a machine that loses power under load loses no acknowledged commit`() throws {
        try run("power", "8")
    }

    @Test func `a process that runs out of memory loses no acknowledged commit`() throws {
        try run("memory", "4")
    }

    @Test func `a second process gets the holder's process ID, and the lock once it dies`() throws {
        try run("lock")
    }

    @Test func `a closed store leaves no thread, no descriptor and few files`() throws {
        try run("leaks", "24")
    }

    @Test func `repeatedly opened stores leak no thread, no descriptor and no memory`() throws {
        try run("stores", "240")
    }

    @Test func `peers released without closing free their locks and end their threads`() throws {
        try run("peers", "16")
    }

    @Test func `other users have no access to the files of a store`() throws {
        try run("modes")
    }
}
