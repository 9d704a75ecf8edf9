import Streams
import Worker

@main
enum WeirImpressions {
    static func main() {
        StreamWorker<ImpressionsFold>.start()
    }
}
