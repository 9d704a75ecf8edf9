import Worker

/// The program `weir-impressions`.
@main
enum WeirImpressions {
    static func main() {
        ImpressionsWorker.start()
    }
}
