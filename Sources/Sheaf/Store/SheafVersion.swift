/// Which Sheaf this is.
public enum SheafVersion {
    /// The version, as others see it.
    public static let current = "0.1.0"

    /// The name of the operating system that this was built for.
    static var operatingSystem: String {
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
