import Foundation
import SheafTestSupport
import Testing

/// The command line of `sheaf-check`, which runs the models and simulators for longer than tests.
struct CheckUsageTests {
    private static let verbs = [
        "conform", "merges", "queries", "isolation", "mesh", "simulate", "reference",
    ]

    private static let program = BuiltProgram.path(of: "sheaf-check")

    /// Runs the program; returns its exit code and its output, including errors.
    private func run(_ words: String) throws -> (code: Int32, text: String) {
        let command = "\(Self.program) \(words) 2>&1"
        let (code, lines) = try ChildProcess.run("/bin/sh", ["-c", command])
        return (code, lines.joined(separator: "\n"))
    }

    @Test func `the help lists all verbs, and each verb has its own help`() throws {
        let help = try run("--help")
        #expect(help.code == 0)
        for verb in Self.verbs {
            #expect(help.text.contains("\n  \(verb) "))
            let own = try run("\(verb) --help")
            #expect(own.code == 0)
            #expect(own.text.hasPrefix("usage: sheaf-check \(verb) "))
        }
    }

    @Test(arguments: [
        ("", "missing verb; the verbs are conform, merges, queries, past, isolation, mesh"),
        ("merge", "unknown verb 'merge'; the verbs are conform, merges, queries, past, isolation"),
        ("merges --tripels 4", "unknown option '--tripels'; the options are --seed, --triples,"),
        ("conform --updat", "unknown option '--updat'; the options are --update, --help"),
        ("queries --queries many", "--queries requires a number"),
        ("isolation 4", "unexpected operand '4'"),
        ("simulate frobs", "expected crashes, flips, truncations, blocks, faults, quotas"),
        ("mesh --flood slow DIRECTORY", "unknown kind 'slow'; the kinds are manyDocuments,"),
        ("mesh --flood ranges", "--flood requires a kind and a directory"),
    ])
    func `invalid usage is refused with an error that names the cause`(
        words: String, complaint: String
    ) throws {
        let refused = try run(words)
        #expect(refused.code == 64)
        #expect(refused.text.contains(complaint))
    }

    @Test func `a run prints its seed first`() throws {
        let merges = try run("merges --seed 7 --histories 1")
        #expect(merges.code == 0)
        #expect(merges.text.hasPrefix("sheaf-check merges, seed 7\n1 histories,"))
        #expect(merges.text.hasSuffix("\n0 violations"))
    }
}
