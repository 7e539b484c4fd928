import BenchHarness
import BenchStores
import SheafDocument

/// Documents of ten fields and about 250 bytes of JSON, in memory on one core.
enum DocumentsWorkload {
    static var workload: Workload {
        Workload(
            "documents", "documents of ten fields, about 250 bytes of JSON, in memory",
            cases: [
                predicate,
                rate(
                    "json-decode", "convert JSON to documents", SheafDocuments.decodingJSON,
                    FoundationDocuments.decodingJSON),
                rate(
                    "json-encode", "convert documents to JSON", SheafDocuments.encodingJSON,
                    FoundationDocuments.encodingJSON),
                rate(
                    "codable", "decode documents to a Decodable type", SheafDocuments.decodingType,
                    FoundationDocuments.decodingType),
                rate("join", "join a document and a delta of one field", SheafDocuments.joining),
                rate("edit", "set one field: create the delta and join it", SheafDocuments.editing),
                byteCount("bytes-document", "a document with its stamps", countsKeys: false),
                byteCount("bytes-document-key", "a document with stamps and key", countsKeys: true),
                Case(
                    "big-map-edit-bytes", "log bytes for setting one field in a map of 1,000",
                    unit: "bytes", .lower, systems: [System("sheaf") { try MapEditTrial($0) }]),
            ])
    }

    private static var predicate: Case {
        Case(
            "predicate", "color = 'blue' AND mileage > 5000, one in eight matches", unit: "M/s",
            .higher,
            systems: [
                System("sheaf") { try ScanTrial($0, scansWords: false) },
                System("limit") { try ScanTrial($0, scansWords: true) },
            ])
    }

    private static func rate(
        _ name: String, _ summary: String, _ sheaf: @escaping (Stage) throws -> CarTrial,
        _ foundation: ((Stage) throws -> CarTrial)? = nil
    ) -> Case {
        var systems = [System("sheaf") { try sheaf($0) }]
        if let foundation { systems.append(System("foundation") { try foundation($0) }) }
        return Case(name, summary, unit: "documents/s", .higher, systems: systems)
    }

    private static func byteCount(_ name: String, _ summary: String, countsKeys: Bool) -> Case {
        Case(
            name, summary, unit: "bytes", .lower,
            systems: [
                System("sheaf") { _ in try SheafDocuments.bytes(countsKeys: countsKeys) },
                System("json") { _ in
                    ByteCountTrial { index in
                        let id = #""_id":"","# + Cars.id(index)
                        return Cars.text(index).utf8.count + (countsKeys ? id.utf8.count : 0)
                    }
                },
            ])
    }
}
