import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

@Suite struct PendingFileTests {
    private let directory = TemporaryDirectory()

    private func write(_ text: String, to path: String, replacing: Bool) throws {
        let file = try PendingFile(path: path, replacing: replacing)
        let stream = ExportStream(file)
        try stream.write(text)
        try file.publish()
    }

    private func names() throws -> [String] {
        try PosixVolume(path: directory.path, creatingDirectory: false).names().sorted()
    }

    @Test func `a file appears when it is complete`() throws {
        let path = directory.path("a.csv")
        do {
            let file = try PendingFile(path: path, replacing: false)
            try ExportStream(file).write("one")
            #expect(try names().allSatisfy { $0.hasPrefix(PendingFile.prefix) })
            try file.publish()
        }
        #expect(try names() == ["a.csv"])
        #expect(try readFile(path) == Array("one".utf8))
    }

    @Test func `a file that is not published leaves nothing`() throws {
        do {
            let file = try PendingFile(path: directory.path("a"), replacing: false)
            try ExportStream(file).write("one")
        }
        #expect(try names() == [])
    }

    @Test func `an existing file is replaced only if that is allowed`() throws {
        let path = directory.path("a")
        try write("one", to: path, replacing: false)
        let error = #expect(throws: ExportError.self) {
            try write("two", to: path, replacing: false)
        }
        #expect(error == .usage("\(path) exists already; --force replaces it"))
        #expect(try readFile(path) == Array("one".utf8))
        try write("two", to: path, replacing: true)
        #expect(try readFile(path) == Array("two".utf8))
        #expect(try names() == ["a"])
    }

    @Test func `one of several exports to a name at a time wins, and the others are refused`()
        async throws
    {
        for round in 0..<50 {
            let path = directory.path("race\(round)")
            let winners = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        do throws(ExportError) {
                            let file = try PendingFile(path: path, replacing: false)
                            try ExportStream(file).write("\(number)")
                            try file.publish()
                            return "\(number)"
                        } catch .usage {
                            return nil
                        }
                    }
                }
                return try await group.reduce(into: [String]()) { $0 += $1.map { [$0] } ?? [] }
            }
            #expect(winners.count == 1)
            #expect(try [readFile(path)] == winners.map { Array($0.utf8) })
        }
    }

    #if os(Linux)
        @Test func `a directory that takes no files is reported with the name of the file`() {
            let error = #expect(throws: ExportError.self) {
                try PendingFile(path: "/proc/a", replacing: false)
            }
            #expect(error.map { "\($0)" }?.contains("/proc/a") == true)
        }
    #endif

    @Test func `a file that appears during an export is not replaced`() throws {
        let path = directory.path("a")
        let file = try PendingFile(path: path, replacing: false)
        try writeFile(path, [1])
        #expect(throws: ExportError.self) { try file.publish() }
        #expect(try readFile(path) == [1])
    }

    @Test(arguments: ["", "/", ".", "..", "/dev/null", "/tmp"])
    func `a name that is not one of a regular file is refused`(path: String) {
        #expect(throws: ExportError.self) { try PendingFile(path: path, replacing: true) }
    }

    @Test func `a missing directory is named`() {
        let path = directory.path("absent/a")
        let error = #expect(throws: ExportError.self) {
            try PendingFile(path: path, replacing: false)
        }
        #expect(
            error
                == .failed("cannot open \(directory.path("absent")): No such file or directory"))
    }
}
