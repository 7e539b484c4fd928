import SheafBytes
import SheafSync
import SheafTransport

extension XXH3.Hash128 {
    /// The id as 32 hexadecimal digits, its low half first, as ids of databases are written.
    var text: String {
        var writer = ByteWriter(capacity: 16)
        writer.write(self)
        return writer.bytes.hexadecimal
    }
}
