import java.io.BufferedReader;
import java.io.FileReader;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.util.ArrayList;
import weka.classifiers.trees.J48;
import weka.classifiers.trees.j48.C45Split;
import weka.classifiers.trees.j48.ClassifierTree;
import weka.classifiers.trees.j48.Distribution;
import weka.core.Attribute;
import weka.core.DenseInstance;
import weka.core.Instances;

/**
 * Fits J48 to each of the last columns of an ARFF file in turn and writes every tree, node by node:
 * "I feature threshold", "L empty weights..." in preorder, and "P shares..." for every row.
 * Arguments: file, number of targets, output, then options of J48.
 */
public class DumpTrees {

  static Object read(Class<?> owner, String name, Object from) throws Exception {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(from);
  }

  static void write(ClassifierTree node, PrintWriter out) throws Exception {
    Distribution weights = node.getLocalModel().distribution();
    if ((Boolean) read(ClassifierTree.class, "m_isLeaf", node)) {
      out.print("L " + ((Boolean) read(ClassifierTree.class, "m_isEmpty", node) ? 1 : 0));
      for (int c = 0; c < weights.numClasses(); c++) {
        out.print(" " + weights.perClass(c));
      }
      out.println();
      return;
    }
    C45Split split = (C45Split) node.getLocalModel();
    out.println("I " + split.attIndex() + " " + read(C45Split.class, "m_splitPoint", split));
    for (ClassifierTree son : node.getSons()) {
      write(son, out);
    }
  }

  static Instances withTarget(Instances all, int features, int target) {
    ArrayList<Attribute> attributes = new ArrayList<>();
    for (int f = 0; f < features; f++) {
      attributes.add((Attribute) all.attribute(f).copy());
    }
    attributes.add((Attribute) all.attribute(target).copy());
    Instances data = new Instances("one", attributes, all.numInstances());
    data.setClassIndex(features);
    for (int i = 0; i < all.numInstances(); i++) {
      double[] values = new double[features + 1];
      for (int f = 0; f < features; f++) {
        values[f] = all.instance(i).value(f);
      }
      values[features] = all.instance(i).value(target);
      data.add(new DenseInstance(1.0, values));
    }
    return data;
  }

  public static void main(String[] arguments) throws Exception {
    Instances all = new Instances(new BufferedReader(new FileReader(arguments[0])));
    int targets = Integer.parseInt(arguments[1]);
    int features = all.numAttributes() - targets;
    try (PrintWriter out = new PrintWriter(arguments[2])) {
      for (int target = features; target < all.numAttributes(); target++) {
        Instances data = withTarget(all, features, target);
        J48 tree = new J48();
        tree.setOptions(java.util.Arrays.copyOfRange(arguments, 3, arguments.length));
        long started = System.nanoTime();
        tree.buildClassifier(data);
        out.println("T " + target + " " + (System.nanoTime() - started) * 1e-9);
        write((ClassifierTree) read(J48.class, "m_root", tree), out);
        for (int i = 0; i < data.numInstances(); i++) {
          out.print("P");
          for (double share : tree.distributionForInstance(data.instance(i))) {
            out.print(" " + share);
          }
          out.println();
        }
      }
    }
  }
}
