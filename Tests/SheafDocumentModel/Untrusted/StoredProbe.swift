package import SheafDocument

/// A probe that reads untrusted bytes as payloads, keys, origins and JSON.
package enum StoredProbe {
    /// Reads bytes as payloads and keys of a store; returns the violated invariant, if any.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> String? {
        if let payload = try? DocumentPayload(bytes) {
            _ = try? payload.vector()
            _ = try? payload.baseVector()
        }
        if let origin = try? CommitOrigin(decoding: bytes), origin.bytes != Array(bytes) {
            return "the origin of a commit is reencoded differently"
        }
        if let key = StoreKey(bytes) {
            if key.bytes != Array(bytes) { return "a key is reencoded differently" }
            if case .document(_, let id) = key { _ = try? DocumentID.id(of: id) }
        }
        return readSortKey(bytes)
    }

    private static func readSortKey(_ bytes: UnsafeRawBufferPointer) -> String? {
        for descending in [[false], [true], [false, true, false]] {
            guard let values = try? SortKeyReader.read(bytes, descending: descending) else {
                continue
            }
            var writer = SortKeyWriter()
            for (value, isDescending) in zip(values, descending) {
                writer.append(value, descending: isDescending)
            }
            guard writer.bytes == Array(bytes) else {
                return "the key of \(values) is \(writer.bytes)"
            }
        }
        return nil
    }

    /// Reads a text as JSON; returns the violated invariant, if any.
    package static func readJSON(_ text: UnsafeRawBufferPointer, _ names: NameTable) -> String? {
        let stamp = Stamp(HybridTime(rawValue: 2), Site(rawValue: 1))
        let value = try? Value(jsonBytes: Array(text))
        guard case .object(let object) = value else {
            if let value, (try? Value(json: value.json)) != value {
                return "the JSON of \(value) parses as another value"
            }
            return nil
        }
        // Compares keys, because `==` does not distinguish 1 from 1.0.
        guard let again = try? Value(json: Value.object(object).json),
            ModelDocument.key(again) == ModelDocument.key(.object(object))
        else { return "the JSON of \(object) parses as another value" }
        guard let document = try? Insertion.document(object, at: stamp, names) else {
            return "the object \(object) cannot be encoded as a document"
        }
        let valid = document.withUnsafeBytes { (try? EncodedDocument($0).validate(names)) != nil }
        return valid ? nil : "the document of \(object) is invalid"
    }
}
