import DittoNames
import Foundation
import SheafTestSupport
import Testing

/// Tests of the sizes of files, directories and links in the disk usage of a database.
@Suite struct DiskUsageTests {
    @Test func `each file counts with its length, and a link does not`() async throws {
        let directory = TemporaryDirectory()
        let ditto = try await Ditto.open(at: directory.path("names"))
        let more = directory.path("names/more")
        let files = FileManager.default
        try files.createDirectory(atPath: more, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: "\(more)/a"))
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: "\(more)/b"))
        try Data([4]).write(to: URL(fileURLWithPath: "\(more)/d"))
        try files.createSymbolicLink(atPath: "\(more)/c", withDestinationPath: "b")
        let usage = ditto.diskUsage.item
        #expect(usage.path == "names" && usage.type == .directory)
        #expect(usage.size == usage.children.reduce(0) { $0 + $1.size })
        let found = try #require(usage.children.first { $0.path == "names/more" })
        #expect(found.type == .directory && found.size == 4 && found.sizeInBytes == 4)
        let children = found.children
        #expect(
            children.map(\.path) == ["a", "b", "c", "d"].map { "names/more/\($0)" })
        #expect(children.map(\.type) == [.file, .file, .symLink, .file])
        #expect(children.map(\.size) == [0, 3, 0, 1])
        #expect(children.map { $0.childItems == nil } == [true, true, true, true])
        try await ditto.close()
    }

    @Test func `a database in memory has an empty directory`() async throws {
        let ditto = try await Ditto.inMemory()
        let usage = ditto.diskUsage.exec
        #expect(usage.type == .directory && usage.path == "" && usage.size == 0)
        #expect(usage.childItems == [])
        try await ditto.close()
    }
}
