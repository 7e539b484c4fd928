import SheafStorage
import SheafTestSupport
import Testing

/// The marks for readers beside a writer, as in `format-spec/log.md`, table 8.
@Suite struct FormatVectorMarkTests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("marks.txt")
    }

    @Test func `marks decode to the documented fields and reencode to the same bytes`() throws {
        let cases = vectors.cases.filter { vectors.names.contains("\($0).mark") }
        #expect(cases.count == 3)
        for name in cases {
            let bytes = try vectors.bytes("\(name).mark")
            let mark = try #require(bytes.withUnsafeBytes { SyncedMark(decoding: $0) })
            #expect(mark.encoded() == bytes)
            #expect(mark.owner.store == FormatVectorStore.id)
            #expect(mark.owner.directory == (try vectors.number("\(name).directory")))
            #expect(mark.owner.system == (try vectors.number("\(name).system")))
            #expect(mark.position.rawValue == (try vectors.number("\(name).position")))
            #expect(mark.commit == (try vectors.number("\(name).commit")))
            #expect(mark.replacements == (try vectors.number("\(name).replacements")))
        }
    }

    @Test func `bytes that are no mark are refused`() throws {
        let cases = vectors.cases.filter { vectors.names.contains("\($0).refused") }
        #expect(cases.count == 8)
        for name in cases {
            let bytes = try vectors.bytes("\(name).refused")
            #expect(bytes.withUnsafeBytes { SyncedMark(decoding: $0) } == nil, "\(name)")
        }
    }

    @Test func `a mark is current in its directory and until the system restarts`() {
        let volume = SimulatedVolume(seed: 4)
        func mark(directory: UInt64, system: UInt64) -> SyncedMark {
            SyncedMark(
                owner: SyncedMark.Owner(
                    store: FormatVectorStore.id, directory: directory, system: system),
                position: .none, commit: 0)
        }
        let system = volume.systemIdentity
        #expect(mark(directory: volume.identity, system: system).isCurrent(in: volume))
        #expect(!mark(directory: volume.identity + 1, system: system).isCurrent(in: volume))
        #expect(!mark(directory: volume.identity, system: 0).isCurrent(in: volume))
        let restarted = volume.powerCut(seed: 1)
        #expect(!mark(directory: volume.identity, system: system).isCurrent(in: restarted))
    }
}
