import SheafText
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A temporary directory of zone files, removed with the object.
final class TemporaryZones {
    let path: String
    private var names: [String] = []

    init() throws {
        var template = Array("/tmp/sheaf-zones-XXXXXX".utf8CString)
        let made: String? = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        path = try #require(made)
    }

    deinit {
        for name in names.reversed() { remove(path + "/" + name) }
        rmdir(path)
    }

    func add(_ name: String, _ bytes: [UInt8]) throws {
        let file = try #require(fopen(path + "/" + name, "w"))
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        fclose(file)
        names.append(name)
    }

    func addDirectory(_ name: String) {
        #expect(mkdir(path + "/" + name, 0o755) == 0)
        names.append(name)
    }

    func addPipe(_ name: String) {
        #expect(mkfifo(path + "/" + name, 0o644) == 0)
        names.append(name)
    }
}

/// Lookup of time zones by name.
@Suite struct ZoneDirectoryTests {
    private static let hasSystemZones =
        ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]
        .allSatisfy { ZoneDirectory.system.zone($0) != nil }

    private func offset(_ zone: Zone?, at text: String) throws -> Int? {
        let moment = try #require(DateText(text), "\(text)").moment
        return zone?.clock(at: moment).offset
    }

    @Test func `a zone is found by its name`() throws {
        let files = try TemporaryZones()
        files.addDirectory("Europe")
        try files.add("Europe/Berlin", CraftedZone.berlin.bytes)
        try files.add("Broken", Array(CraftedZone.berlin.bytes.dropLast()))
        try files.add("Large", [UInt8](repeating: 0, count: ZoneFile.maximumLength + 1))
        try files.add("Empty", [])
        files.addPipe("Pipe")
        let zones = ZoneDirectory(files.path)
        for _ in 0..<2 {
            #expect(try offset(zones.zone("Europe/Berlin"), at: "2050-07-01Z") == 7_200)
            for name in ["Broken", "Large", "Empty", "Pipe", "Europe", "Nowhere", "europe/x"] {
                #expect(zones.zone(name) == nil, "\(name)")
            }
        }
    }

    @Test func `a zone is cached until many other names evict it`() throws {
        var files: TemporaryZones? = try TemporaryZones()
        try files?.add("Here", CraftedZone.berlin.bytes)
        let zones = ZoneDirectory(try #require(files?.path))
        #expect(zones.zone("Here") != nil)
        files = nil
        #expect(zones.zone("Here") != nil)
        // More names than the cache holds evict the zone, whose file is gone.
        for number in 0..<2_000 { #expect(zones.zone("Name\(number)") == nil) }
        #expect(zones.zone("Here") == nil)
    }

    @Test func `the cache holds 1,024 names, and then begins anew`() throws {
        var files: TemporaryZones? = try TemporaryZones()
        try files?.add("Here", CraftedZone.berlin.bytes)
        let zones = ZoneDirectory(try #require(files?.path))
        #expect(zones.zone("Here") != nil)
        files = nil
        for number in 0..<1_023 { #expect(zones.zone("Name\(number)") == nil) }
        #expect(zones.zone("Here") != nil)
        #expect(zones.zone("Further") == nil)
        #expect(zones.zone("Here") == nil)
    }

    @Test(arguments: [63, 64, 65])
    func `the name of a zone has at most 64 bytes`(length: Int) throws {
        let files = try TemporaryZones()
        let name = String(repeating: "z", count: length)
        try files.add(name, CraftedZone.berlin.bytes)
        #expect((ZoneDirectory(files.path).zone(name) != nil) == (length <= 64))
    }

    @Test(arguments: [262_143, 262_144, 262_145])
    func `a zone file has at most 262,144 bytes`(length: Int) throws {
        let bytes = CraftedZone.berlin.bytes
        let long = bytes + [UInt8](repeating: 0, count: length - bytes.count)
        #expect((ZoneFile.history(long) != nil) == (length <= 262_144))
        let files = try TemporaryZones()
        try files.add("Long", long)
        #expect((ZoneDirectory(files.path).zone("Long") != nil) == (length <= 262_144))
    }

    @Test func `a zone name never refers to a file outside of the directory`() throws {
        let files = try TemporaryZones()
        files.addDirectory("inner")
        try files.add("Outside", CraftedZone.berlin.bytes)
        try files.add("inner/Inside", CraftedZone.berlin.bytes)
        let zones = ZoneDirectory(files.path + "/inner")
        #expect(zones.zone("Inside") != nil)
        let names = [
            "../Outside", "./Inside", "/Inside", "inner/../Inside", files.path + "/Outside",
            "Inside/", "Inside\0", "Inside\0/x", "a//b", "..", ".", "/", "Ins ide", "Inside\n",
            "İnside", String(repeating: "a", count: 5_000),
        ]
        for name in names { #expect(zones.zone(name) == nil, "\(name)") }
    }

    @Test(.enabled(if: hasSystemZones))
    func `the zones of the system are parsed`() throws {
        let cases: [(zone: String, at: String, before: Int, after: Int)] = [
            ("Europe/Berlin", "2024-03-31T01:00:00Z", 3_600, 7_200),
            ("Europe/Berlin", "2024-10-27T01:00:00Z", 7_200, 3_600),
            ("Europe/Berlin", "2050-03-27T01:00:00Z", 3_600, 7_200),
            ("Europe/Berlin", "2050-10-30T01:00:00Z", 7_200, 3_600),
            ("America/New_York", "2024-03-10T07:00:00Z", -18_000, -14_400),
            ("America/New_York", "2024-11-03T06:00:00Z", -14_400, -18_000),
            ("America/New_York", "2050-03-13T07:00:00Z", -18_000, -14_400),
            ("America/New_York", "2050-11-06T06:00:00Z", -14_400, -18_000),
            ("Asia/Kolkata", "2024-06-01T00:00:00Z", 19_800, 19_800),
            ("Asia/Kolkata", "2050-06-01T00:00:00Z", 19_800, 19_800),
            ("Australia/Lord_Howe", "2024-04-06T15:00:00Z", 39_600, 37_800),
            ("Australia/Lord_Howe", "2024-10-05T15:30:00Z", 37_800, 39_600),
            ("Australia/Lord_Howe", "2050-04-02T15:00:00Z", 39_600, 37_800),
        ]
        for (name, text, before, after) in cases {
            let zone = try #require(ZoneDirectory.system.zone(name))
            let second = try #require(DateText(text)).moment
            let earlier = try #require(second.adding(-1, .second))
            #expect(zone.clock(at: earlier).offset == before, "\(name) \(text)")
            #expect(zone.clock(at: second).offset == after, "\(name) \(text)")
        }
    }
}
