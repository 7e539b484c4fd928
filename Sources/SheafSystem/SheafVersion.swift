/// The version and platform of this library.
public enum SheafVersion {
    /// The version number that peers and tools display.
    public static let current = "0.2.0"

    /// The operating system that the library was built for; empty if unknown.
    package static var operatingSystem: String {
        #if os(macOS)
            "macOS"
        #elseif os(iOS)
            "iOS"
        #elseif os(tvOS)
            "tvOS"
        #elseif os(watchOS)
            "watchOS"
        #elseif os(visionOS)
            "visionOS"
        #elseif os(Android)
            "Android"
        #elseif os(Linux)
            "Linux"
        #else
            ""
        #endif
    }
}
