import SheafDocument
import SheafStore
import Testing

/// The portions in which the documents of a long sequence are inserted.
@Suite struct InsertionPortionTests {
    /// A document, by the result of its encoding.
    private enum Kind {
        /// All names of the document have numbers.
        case numbered
        case spelled
        /// The document needs `ValueEncoder`.
        case unencodable
    }

    private let numbered: UnstampedDocument
    private let spelled: UnstampedDocument

    init() throws {
        let names = try #require(NameTable(["color"]))
        var encoder = NewDocumentEncoder()
        let color = encoder.document(json: #"{"color": 1}"#, names)
        let size = encoder.document(json: #"{"size": 1}"#, names)
        #expect(color?.spellsNames == false && size?.spellsNames == true)
        numbered = try #require(color)
        spelled = try #require(size)
    }

    /// Returns the portions of a sequence: their number where several are equal, and their content.
    private func portions(_ documents: [Kind]) -> [String] {
        var portions = InsertionPortions<Kind>()
        var rest = documents[...]
        var found: [(text: String, count: Int)] = []
        while true {
            var (encodings, values) = (0, 0)
            let arguments = portions.next(
                { rest.popFirst() },
                encode: { kind -> UnstampedDocument? in
                    encodings += 1
                    switch kind {
                    case .numbered: return numbered
                    case .spelled: return spelled
                    case .unencodable: return nil
                    }
                },
                value: { _ -> Value in
                    values += 1
                    return ["color": 1]
                })
            guard arguments != nil else { break }
            let text = encodings > 0 && values > 0 ? "\(values) values, encoded in vain" : nil
            let content = text ?? (values > 0 ? "\(values) values" : "\(encodings) encoded")
            if found.last?.text == content {
                found[found.count - 1].count += 1
            } else {
                found.append((content, 1))
            }
        }
        #expect(rest.isEmpty)
        return found.map { $0.count == 1 ? $0.text : "\($0.count) x \($0.text)" }
    }

    private func many(_ count: Int, _ kind: Kind) -> [Kind] {
        [Kind](repeating: kind, count: count)
    }

    @Test func `the first 16 documents are inserted together, and the others one by one`() {
        #expect(portions([]) == [])
        #expect(portions(many(1, .numbered)) == ["1 values"])
        #expect(portions(many(15, .spelled)) == ["15 values"])
        #expect(portions(many(16, .unencodable)) == ["16 values"])
        #expect(portions(many(17, .numbered)) == ["16 values", "1 encoded"])
        #expect(portions(many(2_100, .numbered)) == ["16 values", "2084 x 1 encoded"])
    }

    @Test func `from 1,000 encoded documents on, spelled names get numbers`() {
        #expect(
            portions(many(2_100, .spelled))
                == [
                    "16 values", "1000 x 1 encoded", "16 values", "1000 x 1 encoded", "16 values",
                    "52 x 1 encoded",
                ])
        // The first document whose names are spelled comes late.
        #expect(
            portions(many(1_100, .numbered) + many(1, .spelled) + many(20, .numbered))
                == ["16 values", "1085 x 1 encoded", "16 values", "4 x 1 encoded"])
        #expect(
            portions(many(1_014, .numbered) + many(2, .spelled) + many(3, .numbered))
                == ["16 values", "1000 x 1 encoded", "3 values"])
    }

    @Test func `a document that needs values is inserted together with the next 999`() {
        #expect(
            portions(many(20, .numbered) + many(1, .unencodable) + many(1_005, .numbered))
                == [
                    "16 values", "4 x 1 encoded", "1000 values, encoded in vain", "6 x 1 encoded",
                ])
        // Such documents do not count as encoded.
        #expect(
            portions(
                many(516, .numbered) + many(1_000, .unencodable) + many(501, .spelled)
                    + many(1, .unencodable))
                == [
                    "16 values", "500 x 1 encoded", "1000 values, encoded in vain",
                    "500 x 1 encoded", "2 values",
                ])
    }
}
