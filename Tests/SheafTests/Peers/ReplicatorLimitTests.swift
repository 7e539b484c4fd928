import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafSync
import Synchronization
import Testing

/// The reports of a replicator about many documents, at and beyond its limits.
struct ReplicatorLimitTests {
    private func address(_ number: Int) -> DocumentAddress {
        DocumentAddress(
            collection: "cars", id: [0x40, UInt8(number >> 8), UInt8(number & 0xFF), 0])
    }

    /// Checks the numbers of documents that the notices about a write job name.
    private func expectNotices(about count: Int, naming named: [Int], omitted: UInt64 = 0) {
        let refused = (0..<count).map { number in
            WriteJob.Refused(address: address(number), reason: .result, commit: 7)
        }
        let notices = RefusedNotice.all(about: refused, generation: 3)
        for notice in notices {
            #expect(notice.generation == 3 && notice.commit == 7 && notice.reason == .result)
        }
        #expect(notices.map(\.addresses.count) == named)
        #expect(notices.flatMap(\.addresses) == refused.prefix(4_096).map(\.address))
        let sum = notices.reduce(0) { $0 + $1.omitted }
        #expect(sum == omitted)
    }

    @Test func `the notices about a job name 4,096 refused documents, and count the rest`() {
        let full = [Int](repeating: 256, count: 15)
        expectNotices(about: 0, naming: [])
        expectNotices(about: 255, naming: [255])
        expectNotices(about: 257, naming: [256, 1])
        expectNotices(about: 4_095, naming: full + [255])
        expectNotices(about: 4_096, naming: full + [256])
        expectNotices(about: 4_097, naming: full + [256, 0], omitted: 1)
    }

    @Test(arguments: [(15, 15), (16, 16), (17, 16)])
    func `sixteen documents that keep the former site are logged, with the number of all`(
        _ count: Int, _ expected: Int
    ) {
        let lines = Mutex<[StoreLog.Metadata]>([])
        let log = StoreLog { _, _, fields in lines.withLock { $0.append(fields) } }
        let documents = (0..<count).map { number in
            UnmovedDocument(
                address: address(number), reason: .limit(name: "length", value: 2, limit: 1))
        }
        log.writeUnmoved(documents)
        let fields = lines.withLock { $0 }
        #expect(fields.count == expected)
        #expect(fields.allSatisfy { $0["documents"] == "\(count)" })
    }
}
