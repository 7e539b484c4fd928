import BenchHarness
import BenchStores
import SheafDocument

/// Sheaf's operations on documents.
enum SheafDocuments {
    private static var texts: [[UInt8]] {
        (0..<UInt64(CarTrial.count)).map { Array(Cars.text($0).utf8) }
    }

    private static func documents() throws -> [[UInt8]] {
        try texts.enumerated().map { try Cars.document($0.element, UInt64($0.offset)) }
    }

    /// Creates a trial that decodes JSON to document bytes.
    static func decodingJSON(_ stage: Stage) -> CarTrial {
        let texts = texts
        return CarTrial(stage, repetitions: 100) { index in
            try Cars.document(texts[index], UInt64(index)).count
        }
    }

    /// Creates a trial that encodes document bytes to JSON.
    static func encodingJSON(_ stage: Stage) throws -> CarTrial {
        let documents = try documents()
        return CarTrial(stage, repetitions: 100) { index in
            try documents[index].withUnsafeBytes { bytes in
                var writer = JSONWriter()
                try writer.write(EncodedDocument(bytes), Cars.names)
                return writer.bytes.count
            }
        }
    }

    /// Creates a trial that decodes document bytes to a `Decodable` type.
    static func decodingType(_ stage: Stage) throws -> CarTrial {
        let documents = try documents()
        return CarTrial(stage, repetitions: 50) { index in
            try documents[index].withUnsafeBytes { bytes in
                let decoder = DocumentDecoder(Cars.names)
                return try decoder.decode(Car.self, from: EncodedDocument(bytes)).mileage
            }
        }
    }

    /// Creates a trial that joins a document and a delta of another site.
    static func joining(_ stage: Stage) throws -> CarTrial {
        let documents = try documents()
        let deltas = try documents.enumerated().map { index, document in
            try delta(to: document, index, at: Cars.edit(UInt64(index), by: Cars.otherSite))
        }
        return CarTrial(stage, repetitions: 200) { index in
            try join(documents[index], deltas[index]).count
        }
    }

    /// Creates a trial that creates a delta and joins it.
    static func editing(_ stage: Stage) throws -> CarTrial {
        let documents = try documents()
        return CarTrial(stage, repetitions: 100) { index in
            let stamp = Cars.edit(UInt64(index), by: Cars.site)
            let delta = try delta(to: documents[index], index, at: stamp)
            return try join(documents[index], delta).count
        }
    }

    /// Creates a trial that reports the size of an inserted state, optionally with its key.
    static func bytes(countsKeys: Bool) throws -> ByteCountTrial {
        try ByteCountTrial { index in
            let document = try Cars.document(Array(Cars.text(index).utf8), index).count
            guard countsKeys else { return document }
            var key = SortKeyWriter()
            key.append(.string(Cars.id(index)))
            return document + key.bytes.count
        }
    }

    private static func delta(
        to document: [UInt8], _ index: Int, at stamp: Stamp
    ) throws -> [UInt8] {
        try document.withUnsafeBytes { bytes in
            let delta = try DocumentEditor.delta(
                of: [.set(path: ["mileage"], to: .integer(Int64(index)))],
                in: EncodedDocument(bytes), at: stamp, Cars.names)
            return delta?.bytes ?? []
        }
    }

    private static func join(_ document: [UInt8], _ delta: [UInt8]) throws -> [UInt8] {
        try document.withUnsafeBytes { document in
            try delta.withUnsafeBytes { delta in
                try Join.join(EncodedDocument(document), EncodedDocument(delta), Cars.names)
            }
        }
    }
}
